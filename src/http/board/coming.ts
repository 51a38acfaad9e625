import { Timeline } from '../../engine/loops/timeline.ts'
import { isPlannable, type JobRecord } from '../../model/job.ts'
import { covers, type PauseRecord } from '../../model/pause.ts'
import type { Board } from './board.ts'

/**
 * Coming instants of a job in [from, to), at most `most`; null when this process does not know the kind of its schedule. Instants in a
 * pause whose end is known are left out, and of one without an end all.
 */
export async function comingInstants(
  board: Board,
  record: JobRecord,
  { from, to, most, pauses }: { from: number; to: number; most: number; pauses: readonly PauseRecord[] },
): Promise<{ readonly instants: readonly number[]; readonly isCut: boolean }> {
  if (!isPlannable(record.spec) && record.version === 1) return { instants: [], isCut: false }
  const own = pauses.filter((pause) => covers(pause, record.tenant, record.name))
  const instants: number[] = []
  try {
    const timeline = new Timeline(record, await board.versions(record))
    let last = from - 1
    for (let looked = 0; looked < most * 2; looked++) {
      const next = timeline.next(last)
      if (!next || next.at >= to) return { instants, isCut: false }
      last = next.at
      if (own.some((pause) => pause.from <= last && (pause.to === null || last < pause.to))) continue
      if (instants.length === most) return { instants, isCut: true }
      instants.push(last)
    }
    return { instants, isCut: true }
  } catch {
    return { instants, isCut: false }
  }
}
