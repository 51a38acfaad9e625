// Types of the results of tasks: what a task sees, what others see of it, and what the job as a whole returns.
import type { Jsonified } from './json.ts'

export type Results = Record<string, unknown>
/** The name of a task that the job does not have yet. */
export type NewName<Name extends string, Known> = Name extends keyof Known ? Name & TaskNameIsTaken<Name> : Name
/** The compiler shows this type for the name of a task that the job has already. */
export interface TaskNameIsTaken<Name extends string> {
  readonly error: `the job has a task named ${Name} already`
}
/** The results that a task sees. */
export type Seen<Known, Mode, After extends keyof Known> = Readonly<
  Mode extends 'graph' ? Flat<Pick<Known, After>> : Mode extends 'parallel' ? {} : Known
>
/** A result as others see it: read from JSON, and missing where the job goes on without it. */
export type Kept<Result, OnFailure> = [OnFailure] extends ['continue']
  ? Jsonified<Awaited<Result>> | undefined
  : Jsonified<Awaited<Result>>
export type With<Known, Name extends string, Result, OnFailure> = Flat<Known & Record<Name, Kept<Result, OnFailure>>>
/** The tasks that no other follows, with a task added: in a sequence the newest, side by side all, in a graph those not in `after`. */
export type EndsWith<Ends extends string, Mode, Name extends string, After> = Mode extends 'graph'
  ? Exclude<Ends, After> | Name
  : Mode extends 'parallel'
    ? Ends | Name
    : Name
/** The value of the last task, or of all tasks where several are last. Nothing is known of a job without tasks. */
export type Outcome<Known, Ends extends string> = string extends Ends
  ? unknown
  : [Ends] extends [never]
    ? unknown
    : IsUnion<Ends> extends true
      ? Readonly<Known>
      : Known[Ends & keyof Known]
type IsUnion<Type, All = Type> = Type extends unknown ? ([All] extends [Type] ? false : true) : never
/** Written out: the compiler then shows names and types instead of this alias. */
export type Flat<Type> = Type extends infer Own ? { [Key in keyof Own]: Own[Key] } : never
