import { cascade, differences, type Settings, type SettingsDiff, type TaskSettings } from '../../model/settings.ts'
import { type TaskGraph, taskGraph } from '../../model/task-graph.ts'
import type { ClaimMember } from '../../store/store.ts'
import type { Runnable } from '../registry.ts'

/** What holds for a turn: the settings of the occurrence, of each of its tasks, and the graph that follows. */
export interface TurnSettings {
  readonly settings: Settings
  /** What is kept of them with the occurrence. */
  readonly kept: SettingsDiff | null
  readonly tasks: readonly TaskSettings[]
  readonly graph: TaskGraph
}

/** The turn settings of each definition for the job settings last seen: most occurrences of a batch share them. */
const lastSeen = new WeakMap<
  Runnable,
  { readonly scheduler: SettingsDiff; readonly job: SettingsDiff | null; readonly settings: TurnSettings }
>()

export function turnSettings(scheduler: SettingsDiff, runnable: Runnable, member: ClaimMember): TurnSettings {
  const frozen = frozenSettings(member)
  const own = member.record.settings
  if (frozen !== null || own !== null)
    return resolve(runnable, frozen === null ? [scheduler, runnable.definition.settings, member.jobSettings] : [frozen], own)
  const seen = lastSeen.get(runnable)
  if (seen && seen.job === member.jobSettings && seen.scheduler === scheduler) return seen.settings
  const settings = resolve(runnable, [scheduler, runnable.definition.settings, member.jobSettings], null)
  lastSeen.set(runnable, { scheduler, job: member.jobSettings, settings })
  return settings
}

function resolve({ tasks }: Runnable, levels: readonly (SettingsDiff | null)[], own: SettingsDiff | null): TurnSettings {
  const settings = cascade(...levels, own)
  return {
    settings,
    kept: differences(settings),
    tasks: tasks.map((task) => cascade(...levels, task.settings, own)),
    graph: taskGraph(tasks, settings.mode),
  }
}

/** The settings of the first start, which later turns keep; null before it. */
function frozenSettings({ turns }: ClaimMember): SettingsDiff | null {
  if (turns.length === 0) return null
  const started = turns.find((turn) => turn.startedAt !== null && turn.end !== 'lost' && turn.end !== 'stale')
  return started ? (started.settings ?? {}) : null
}
