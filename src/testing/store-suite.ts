import type { Ability } from '../store/abilities.ts'
import type { Store, StoreEnv } from '../store/store.ts'
import { auditCases } from './store-suite/audit.ts'
import { beatCases } from './store-suite/beat.ts'
import { cancelCases } from './store-suite/cancel.ts'
import { checkpointCases } from './store-suite/checkpoint.ts'
import { claimCases } from './store-suite/claim.ts'
import { clusterLimitCases } from './store-suite/cluster-limit.ts'
import { countCases } from './store-suite/counts.ts'
import { createCases } from './store-suite/create.ts'
import { deadCauseCases } from './store-suite/dead-causes.ts'
import { expiryCases } from './store-suite/expiry.ts'
import { fenceCases } from './store-suite/fence.ts'
import { figureCases } from './store-suite/figures.ts'
import { gateCases, gateTransactionCases } from './store-suite/gate.ts'
import { grantCases } from './store-suite/grants.ts'
import { hintCases } from './store-suite/hints.ts'
import { hookCases } from './store-suite/hooks.ts'
import { jobRemovalCases } from './store-suite/job-removal.ts'
import { jobCases } from './store-suite/jobs.ts'
import { keyOrderCases } from './store-suite/key-order.ts'
import { lifeCases } from './store-suite/life.ts'
import { limitCases } from './store-suite/limits.ts'
import { messageCases } from './store-suite/messages.ts'
import { modelCases } from './store-suite/model.ts'
import { moveCases } from './store-suite/move.ts'
import { paceCases } from './store-suite/pace.ts'
import { passedCases } from './store-suite/passed.ts'
import { pauseCases } from './store-suite/pause.ts'
import { pickCases } from './store-suite/pick.ts'
import { planCases } from './store-suite/plan.ts'
import { pruneCases } from './store-suite/prune.ts'
import { readCases } from './store-suite/read.ts'
import { repeatCases } from './store-suite/repeat.ts'
import { rescueCases } from './store-suite/rescue.ts'
import { Scene } from './store-suite/scene.ts'
import { settleCases } from './store-suite/settle.ts'
import { strandedCases } from './store-suite/stranded.ts'
import type { Draft } from './store-suite/topic.ts'
import { versionCases } from './store-suite/versions.ts'

/** The options of `storeSuite`. */
export interface StoreSuiteOptions {
  /** The store's name, which begins every title. */
  readonly name: string
  /**
   * Makes a store and opens it with `env`. Each case has its own `place` that starts out empty; a second call
   * with the same place gives another handle of the same data, where the store has the ability `durable` or `many-processes`.
   */
  readonly open: (env: StoreEnv, place: string) => Promise<Store>
  /** The abilities the store does not have, each with the reason: only their cases are skipped. */
  readonly lacks?: Readonly<Partial<Record<Ability, string>>>
}

/** One case of the suite, for any test runner to register. */
export interface StoreCase {
  readonly title: string
  /** Why the case does not apply, or null. */
  readonly skip: string | null
  run(): Promise<void>
}

const drafts: readonly Draft[] = [
  lifeCases,
  jobCases,
  planCases,
  strandedCases,
  versionCases,
  passedCases,
  pauseCases,
  createCases,
  paceCases,
  claimCases,
  pickCases,
  clusterLimitCases,
  expiryCases,
  checkpointCases,
  settleCases,
  grantCases,
  limitCases,
  fenceCases,
  cancelCases,
  moveCases,
  gateCases,
  auditCases,
  gateTransactionCases,
  beatCases,
  rescueCases,
  pruneCases,
  jobRemovalCases,
  readCases,
  countCases,
  figureCases,
  deadCauseCases,
  hintCases,
  hookCases,
  messageCases,
  repeatCases,
  keyOrderCases,
  modelCases,
].flat()

/**
 * The conformance suite: what every store must do, as a list of cases. Time is a manual clock that the suite
 * gives to `open`; nothing sleeps.
 * @example for (const { title, skip, run } of storeSuite({ name: 'mine', open })) it(title, { skip: skip !== null }, run)
 */
export function storeSuite({ name, open, lacks = {} }: StoreSuiteOptions): readonly StoreCase[] {
  return drafts.map((draft, index) => {
    const skip = draft.needs === null ? null : (lacks[draft.needs] ?? null)
    return {
      title: `${name}: ${draft.topic}: ${draft.title}${skip === null ? '' : ` (skipped: ${skip})`}`,
      skip,
      run: async () => {
        const scene = await Scene.open({ open, lacks, place: `case-${index + 1}` })
        try {
          await draft.run(scene)
        } finally {
          await scene.close()
        }
      },
    }
  })
}
