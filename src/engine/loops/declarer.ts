import type { AnyDefinition } from '../../model/definition.ts'
import { defaultTenant, type JobRecord, jobSpec } from '../../model/job.ts'
import { parseUpdatePolicy } from '../../model/update.ts'
import { inZone } from '../../schedule/default-zone.ts'
import type { NodeRecord } from '../../store/store.ts'
import type { Env } from '../env.ts'
import { declareJob, effectiveInstant, handleOrphans } from './declaration.ts'

/** After this long the editions of the definitions are read again, whatever the hints. */
const editionsKeptMs = 60_000

/** Says to the store what this process's code declares, and learns from it what the code may run. */
export class Declarer {
  readonly #env: Env
  readonly #beat: () => Promise<unknown>
  /** Definitions that this process has declared since it was made. */
  readonly #declared = new Set<string>()
  readonly #toldOrphans = new Set<string>()
  readonly #toldGaps = new Set<string>()
  #isUndeclared = true
  #mayHaveOrphans = false
  #knowsEditions = false
  #editionsReadAt = 0
  #boots: readonly string[] = []

  /** @param beat Tells the other nodes what is declared and can be run here. */
  constructor(env: Env, beat: () => Promise<unknown>) {
    this.#env = env
    this.#beat = beat
  }

  /** Whether something is still to be declared, or was left to a node with newer code. */
  get isUndeclared(): boolean {
    return this.#isUndeclared
  }

  /** A definition or handler was added. */
  noteRegistration(): void {
    this.#isUndeclared = true
  }

  /** A job was changed. */
  noteChange(): void {
    this.#knowsEditions = false
  }

  /** Takes note of the nodes. True when one has gone, whose declarations may have become orphans. */
  observe(nodes: readonly NodeRecord[]): boolean {
    const boots = nodes.map(({ boot }) => boot)
    const hasGone = this.#boots.some((boot) => !boots.includes(boot))
    if (hasGone) this.#mayHaveOrphans = true
    if (boots.some((boot) => !this.#boots.includes(boot))) this.#knowsEditions = false
    this.#boots = boots
    return hasGone
  }

  /** Writes what the definitions declare, once the store answers; saying the same again writes nothing. */
  async runOnce(): Promise<void> {
    if (this.#isUndeclared) await this.#declareAll()
    if (!this.#knowsEditions || this.#env.clock.mono() - this.#editionsReadAt >= editionsKeptMs) await this.#readEditions()
    if (this.#isUndeclared || !this.#mayHaveOrphans) return
    this.#mayHaveOrphans = false
    await handleOrphans(this.#env, this.#toldOrphans)
  }

  async #declareAll(): Promise<void> {
    let isLeft = false
    for (const definition of this.#env.registry.definitions) isLeft = !(await this.#declareJob(definition)) || isLeft
    // A declaration that was left to newer code is tried again later: the newer nodes may go, as in a rollback.
    this.#isUndeclared = isLeft
    try {
      // The other nodes learn of what is declared here before anything is taken for forgotten.
      if (!(await this.#readEditions())) await this.#beat()
    } catch (cause) {
      // A version that was not read back may be one that a failover has lost.
      this.#isUndeclared = true
      throw cause
    }
    this.#mayHaveOrphans = true
  }

  /** The definition's own job. A schedule that was given to it by `schedule()` stays. */
  async #declareJob(definition: AnyDefinition): Promise<boolean> {
    const { schedule, timezone = this.#env.options.timezone } = definition.options
    const inline = schedule ? inZone(schedule, timezone).toJSON() : null
    const declared = (known: JobRecord | undefined) =>
      jobSpec(definition, inline === null && known?.declared ? known.declared : { schedule: inline })
    const { name } = definition
    const isRepeated = this.#declared.has(name)
    const { outcome } = await declareJob(this.#env, {
      tenant: defaultTenant,
      name,
      declared,
      isPatient: true,
      isRepeated,
      announce: this.#beat,
      effectiveAt: (known) => effectiveInstant(this.#env, known, parseUpdatePolicy(this.#env.options.update)),
    })
    if (outcome !== 'left') this.#declared.add(name)
    return outcome !== 'left'
  }

  /**
   * Learns which editions of their tasks the definitions have, and so which kinds this node may run. It claims no others. Returns
   * whether the node has beaten, since they are others than before.
   */
  async #readEditions(): Promise<boolean> {
    const { registry, clock, events } = this.#env
    const before = registry.kinds().join()
    // Changes from now on are read in the next pass.
    this.#knowsEditions = true
    try {
      for (const name of registry.names) await this.#readVersions(name)
    } catch (cause) {
      this.#knowsEditions = false
      throw cause
    }
    this.#editionsReadAt = clock.mono()
    this.#tellGaps()
    if (registry.kinds().join() === before) return false
    // The node's record shows its new kinds without delay.
    await this.#beat()
    events.emit('signal.kinds', null)
    return true
  }

  async #readVersions(name: string): Promise<void> {
    const { registry, store } = this.#env
    const versions = await store.readVersions({ tenant: defaultTenant, name })
    // Declared versions can be missing after a failover, and other code may have declared a newer one. This node declares again when
    // no live node stands for that version any more.
    const known = registry.versionCount(name)
    const isOwn = registry.definition(name) !== undefined
    if (isOwn && (versions.length === 0 || (known > 0 && versions.length !== known))) this.#isUndeclared = true
    registry.learn(name, versions)
  }

  /** Logs each handler that fits no definition in the store, once. */
  #tellGaps(): void {
    const { registry, log, events } = this.#env
    for (const gap of registry.storedGaps()) {
      if (this.#toldGaps.has(gap.message)) continue
      this.#toldGaps.add(gap.message)
      log.warn(gap.message, { job: gap.job, task: gap.task })
      events.emit('handler.missing', gap)
    }
  }
}
