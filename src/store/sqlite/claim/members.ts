// The members that a claim returns, and the entries behind them.
import { recoveries } from '../../../model/turn.ts'
import type { ClaimMember, MemberWrite } from '../../store.ts'
import type { Transaction } from '../connection/transaction.ts'
import { JobSpecs } from '../names/job-specs.ts'
import { attemptsOf, Entry, turnsOf } from '../occurrence/entry.ts'

const held = Symbol('held')

/** The hidden part of a member, so its settlement looks nothing up. Copies of a member do not have it. */
interface Held {
  readonly claim: string
  readonly entry: Entry
}

/** Only a later turn, or a claim made again, has a history. */
export function describe(tx: Transaction, claim: string, entries: readonly Entry[], isRepeat = false): ClaimMember[] {
  const jobs = new JobSpecs(tx)
  return entries.map((entry) => {
    const { ref, series, turn, record, dueAt } = entry
    const isNew = turn === 1 && !isRepeat
    const turns = isNew ? [] : turnsOf(tx, series, ref)
    const member = {
      ref,
      turn,
      record,
      dueAt,
      recoveries: recoveries(turns),
      jobSettings: jobs.of(series, record)?.settings ?? null,
      lastRunAt: jobs.lastRunAt(series),
      turns,
      attempts: isNew ? [] : attemptsOf(tx, ref),
    }
    return Object.defineProperty(member, held, { value: { claim, entry } satisfies Held })
  })
}

/** The entry that a write is about, as it was when it was claimed; null for a member of another claim. */
export function entryOfMember({ claim, member }: MemberWrite): Entry | null {
  const own = (member as ClaimMember & { readonly [held]?: Held })[held]
  if (own?.claim !== claim.id) return null
  const { ref, series, record } = own.entry
  return new Entry(ref, series, record, 'claimed', own.entry)
}
