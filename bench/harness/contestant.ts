// A queue library as the harness uses it: to fill it, to work it off and to see that it is done.
import type { Payload } from './payload.ts'

/** A library on a store, set up in one way. */
export interface Contestant {
  readonly name: string
  /** The module whose `contestants` has it, for other processes to find it there by its name. */
  readonly home: URL
  /** Whether several processes can work on one place. */
  readonly isShared: boolean
  /** The packages whose versions belong to its figures. */
  readonly packages: readonly string[]
  /** Makes an empty place, such as a file or a schema, and returns its address. */
  makePlace(): Promise<string>
  removePlace(place: string): Promise<void>
  /** Called when a place has been filled, such as to take statistics of it. */
  settlePlace?(place: string): Promise<void>
  /** Does what the server would do later of itself, such as cleaning up and writing out what is only in memory. */
  restPlace?(place: string): Promise<void>
  /** Fills an empty place, in whatever way is fastest, with jobs far from due and with jobs long done. */
  loadPlace?(place: string, load: Load): Promise<void>
  /** CPU time of the server that holds the places, so far, in microseconds. */
  serverMicros?(): number
  open(place: string): Promise<Queue>
}

/** Rows beside the jobs that are measured. */
export interface Load {
  /** Jobs that are due in a month. */
  readonly future: number
  /** Jobs that are done and kept; none where the library keeps none. */
  readonly history: number
}

/** Which contestant, and where its data lies: what is said of it to another process. */
export interface Subject {
  readonly home: string
  readonly name: string
  readonly place: string
}

export async function contestantOf({ home, name }: Subject): Promise<Contestant> {
  const { contestants } = (await import(home)) as { contestants: readonly Contestant[] }
  const found = contestants.find((contestant) => contestant.name === name)
  if (!found) throw new Error(`There is no contestant ${name}`)
  return found
}

export interface Job {
  readonly payload: Payload
  /** Milliseconds since the epoch, whole. Default: now. */
  readonly dueAt?: number
  /** Jobs of one key run one at a time, in order. Default: none. */
  readonly key?: string
}

/** A contestant opened in this process. */
export interface Queue {
  /** Resolves when the job is safe in the store. */
  enqueue(job: Job): Promise<void>
  /** In as few calls as the library allows. */
  enqueueMany(jobs: readonly Job[]): Promise<void>
  /** Makes this process a worker. */
  work(handler: (payload: Payload) => void): Promise<void>
  /** Whether the store holds nothing any more that waits or runs, but for `resting` jobs that are far from due. */
  isDrained(resting: number): Promise<boolean>
  /** Deletes done jobs, the oldest first, as its care for old ones would. */
  forget?(count: number): Promise<void>
  close(): Promise<void>
}
