import { PunctualError, shown } from '../errors.ts'
import { type AnyDefinition, Definition, type InputOf } from '../model/definition.ts'
import type { Schedule } from '../schedule/schedule.ts'
import type { By } from './audit-note.ts'
import type { ClientEnv } from './client-env.ts'
import type { ScheduleArguments } from './job-arguments.ts'
import { JobCommands, type ScheduleResult, type UpdateOptions, type UpdateResult } from './job-commands.ts'
import { type Job, nameOf } from './job-name.ts'
import type { JobPatch, OverridableField } from './job-override.ts'
import { type PauseOptions, Pauses, type PauseTarget } from './pauses.ts'
import { Queries } from './queries.ts'

/** The calls of a scheduler that change jobs. */
export class JobChanges extends Queries {
  readonly #env: ClientEnv
  readonly #jobs: JobCommands
  readonly #pauses: Pauses

  constructor(env: ClientEnv) {
    super(env)
    this.#env = env
    this.#jobs = new JobCommands(env)
    this.#pauses = new Pauses(env)
  }

  /** Gives a job its schedule. Saying the same again writes nothing. */
  async schedule<const J extends Job>(
    definition: J,
    schedule: Schedule,
    ...optionsWithPayload: ScheduleArguments<InputOf<J>>
  ): Promise<ScheduleResult> {
    return this.#jobs.schedule(this.#declared(definition), schedule, optionsWithPayload[0])
  }

  /** A person's change of a job: it wins over what code declares until `reset`. */
  async update<const J extends Job>(
    job: J,
    patch: JobPatch<InputOf<J>>,
    options?: UpdateOptions & { tenant?: string } & By,
  ): Promise<UpdateResult> {
    return this.#jobs.update(job, patch, options)
  }

  /** Takes a person's changes back, all or those of some fields. */
  async reset(
    job: Job,
    options?: UpdateOptions & { tenant?: string; fields?: readonly OverridableField[] } & By,
  ): Promise<UpdateResult> {
    return this.#jobs.reset(job, options)
  }

  /** Makes an older version hold again, as a new one. */
  async rollback(job: Job, version: number, options?: UpdateOptions & { tenant?: string } & By): Promise<UpdateResult> {
    return this.#jobs.rollback(job, version, options)
  }

  /** Ends a job that no code declares any more; its history stays. */
  async retire(job: Job, options?: { tenant?: string } & By): Promise<UpdateResult> {
    return this.#jobs.retire(job, options)
  }

  /** Pauses a job, a tenant (`{ tenant }`), or everything (no target). Scheduled instants meanwhile are skipped, other work waits. */
  async pause(target?: PauseTarget, options?: PauseOptions): Promise<'paused' | 'unchanged'> {
    return this.#pauses.pause(target, options)
  }

  /** Ends the pause of exactly this target. */
  async resume(target?: PauseTarget, options?: By): Promise<'resumed' | 'unchanged'> {
    return this.#pauses.resume(target, options)
  }

  #declared(definition: Job): AnyDefinition {
    if (definition instanceof Definition) return definition
    const known = this.#env.registry.definition(nameOf(definition))
    if (known) return known
    throw new PunctualError(
      'definition.unknown',
      `No definition is named ${shown(definition)} in this process; give it to createPunctual in jobs`,
      { field: 'definition', given: definition },
    )
  }
}
