import { errorText } from '../../model/error-record.ts'
import type { Progress } from '../../model/occurrence.ts'
import { taskEvent } from './report.ts'
import type { TaskRun } from './task-run.ts'
import type { Turn } from './turn.ts'

/** Records progress without making the handler wait; of what is reported during a write only the newest is written. */
export class ProgressNotes {
  readonly #turn: Turn
  #next: Progress | null = null
  /** Resolves when the newest is written; null when none is on its way. */
  writing: Promise<void> | null = null

  constructor(turn: Turn) {
    this.#turn = turn
  }

  note(run: TaskRun, done: number, message: string | null): void {
    const { events, time } = this.#turn.env
    events.emit('task.progress', { ...taskEvent(this.#turn, run), done, message })
    this.#next = { task: run.name, done, message, at: time.now() }
    this.writing ??= this.#write()
  }

  async #write(): Promise<void> {
    while (this.#next) {
      const progress = this.#next
      this.#next = null
      // Progress is worth no failure: what follows will meet the same trouble.
      await this.#turn
        .checkpoint({ attempts: [], progress })
        .catch((error: unknown) => this.#turn.log.warn('Progress could not be recorded', { error: errorText(error) }))
    }
    this.writing = null
  }
}
