// The types of the arguments of calls about a job.
import type { Handler } from '../model/context.ts'
import type { PayloadOf, ResultsOf } from '../model/definition.ts'
import type { ScheduleOptions } from './job-commands.ts'
import type { Job } from './job-name.ts'
import type { EnqueueOptions } from './new-occurrence.ts'

/** The payload may be left out where the job takes none, or anything. */
export type EnqueueArguments<Input> = undefined extends Input
  ? [payload?: Input, options?: EnqueueOptions]
  : [payload: Input, options?: EnqueueOptions]

/** The same for a schedule, whose payload is among its options. */
export type ScheduleArguments<Input> = undefined extends Input
  ? [options?: ScheduleOptions<Input>]
  : [options: ScheduleOptions<Input> & { payload: Input }]

/** A handler registered apart from its definition. Its results are those of earlier tasks, so each may be missing. */
export type HandlerOf<J extends Job> = Handler<PayloadOf<J>, Readonly<Partial<ResultsOf<J>>>>
