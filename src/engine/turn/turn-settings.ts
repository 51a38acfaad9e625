import { cascade, differences, type Settings, type SettingsDiff, type TaskSettings } from '../../model/settings.ts'
import { type TaskGraph, taskGraph } from '../../model/task-graph.ts'
import type { ClaimMember } from '../../store/store.ts'
import type { Registry, Runnable } from '../node/registry.ts'

/** The parts that turns of a batch share: the definition with its handlers, and the settings in force. */
export interface TurnSettings {
  readonly runnable: Runnable
  readonly settings: Settings
  /** The part of them that is stored with the occurrence. */
  readonly kept: SettingsDiff | null
  readonly tasks: readonly TaskSettings[]
  readonly graph: TaskGraph
  /** For each task the places of those that must be finished before it. */
  readonly after: readonly (readonly number[])[]
}

/** Finds the settings of claimed members. Most members of a batch share them: they are resolved once per definition and job. */
export class TurnSettingsLookup {
  readonly #registry: Registry
  readonly #scheduler: SettingsDiff
  readonly #lastSeen = new Map<string, { readonly job: SettingsDiff | null; readonly settings: TurnSettings }>()

  constructor(registry: Registry, scheduler: SettingsDiff) {
    this.#registry = registry
    this.#scheduler = scheduler
  }

  of(member: ClaimMember): TurnSettings {
    const { definition } = member.record
    const own = member.record.settings && forTurn(member.record.settings)
    const frozen = frozenSettings(member)
    if (frozen !== null) return resolve(this.#runnable(definition), [frozen], own)
    if (own !== null) return this.#resolve(member, own)
    const seen = this.#lastSeen.get(definition)
    // A definition that only the store has may be another than at the last look.
    if (seen?.job === member.jobSettings && seen.settings.runnable === this.#runnable(definition)) return seen.settings
    const settings = this.#resolve(member, null)
    this.#lastSeen.set(definition, { job: member.jobSettings, settings })
    return settings
  }

  #resolve({ record, jobSettings }: ClaimMember, own: SettingsDiff | null): TurnSettings {
    const runnable = this.#runnable(record.definition)
    return resolve(runnable, [this.#scheduler, runnable.definition.settings, jobSettings], own)
  }

  /** A node claims only what it has all handlers for. */
  #runnable(definition: string): Runnable {
    return this.#registry.runnable(definition) as Runnable
  }
}

function resolve(runnable: Runnable, levels: readonly (SettingsDiff | null)[], own: SettingsDiff | null): TurnSettings {
  const { tasks } = runnable
  const settings = cascade(...levels, own)
  const graph = taskGraph(tasks, settings.mode)
  const names = [...graph.keys()]
  return {
    runnable,
    settings,
    kept: differences(settings),
    tasks: tasks.map((task) => cascade(...levels, task.settings, own)),
    graph,
    after: [...graph.values()].map((after) => after.map((name) => names.indexOf(name))),
  }
}

/** Settings that the door has applied: a turn needs none of them, and rows that differ in nothing else share the rest. */
const doorSettings: readonly string[] = ['concurrency', 'rate', 'startWithinMs'] satisfies (keyof SettingsDiff)[]

function forTurn(own: SettingsDiff): SettingsDiff | null {
  for (const name in own) if (!doorSettings.includes(name)) return own
  return null
}

/** The settings of the first start, which later turns keep; null before it. */
function frozenSettings({ turns }: ClaimMember): SettingsDiff | null {
  if (turns.length === 0) return null
  const started = turns.find((turn) => turn.startedAt !== null && turn.end !== 'lost' && turn.end !== 'stale')
  return started ? (started.settings ?? {}) : null
}
