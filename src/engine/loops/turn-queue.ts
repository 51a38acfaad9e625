import type { Turn } from '../turn/turn.ts'

/** From this many recoveries on an occurrence runs without another such beside it, so only the guilty one goes down. */
const suspectRecoveries = 2

/** Claimed turns that wait for a slot. Those that were lost again and again, the suspects, run one at a time. */
export class TurnQueue {
  #plain: Turn[] = []
  #suspects: Turn[] = []
  #suspectsUnderWay = 0

  get size(): number {
    return this.#plain.length + this.#suspects.length
  }

  /** The turns that only a slot is missing to. A suspect that waits for another suspect takes no room from other work. */
  get ready(): number {
    return this.#plain.length + (this.#suspects.length > 0 && !this.isSuspectUnderWay ? 1 : 0)
  }

  get isSuspectUnderWay(): boolean {
    return this.#suspectsUnderWay > 0
  }

  push(turn: Turn): void {
    if (isSuspect(turn)) this.#suspects.push(turn)
    else this.#plain.push(turn)
  }

  /** Takes out the next turn that may start. */
  shift(): Turn | undefined {
    const suspect = this.isSuspectUnderWay ? undefined : this.#suspects[0]
    if (!suspect) return this.#plain.shift()
    const plain = this.#plain[0]
    return plain && plain.batch.queuedAt <= suspect.batch.queuedAt ? this.#plain.shift() : this.#suspects.shift()
  }

  noteStart(turn: Turn): void {
    if (isSuspect(turn)) this.#suspectsUnderWay += 1
  }

  /** Only when its end is written: a suspect whose end is not would go down with the next. */
  noteEnd(turn: Turn): void {
    if (isSuspect(turn)) this.#suspectsUnderWay -= 1
  }

  /** Takes out all turns that match. */
  remove(matches: (turn: Turn) => boolean): Turn[] {
    const removed = [...this.#plain.filter(matches), ...this.#suspects.filter(matches)]
    if (removed.length === 0) return removed
    this.#plain = this.#plain.filter((turn) => !matches(turn))
    this.#suspects = this.#suspects.filter((turn) => !matches(turn))
    return removed
  }

  /** When the oldest of those was claimed that were taken in the hope of a slot; null when there is none. */
  get aheadSince(): number | null {
    const plain = this.#plain.find(({ batch }) => batch.isAhead)?.batch.queuedAt
    const suspect = this.#suspects.find(({ batch }) => batch.isAhead)?.batch.queuedAt
    const since = Math.min(plain ?? Number.POSITIVE_INFINITY, suspect ?? Number.POSITIVE_INFINITY)
    return since === Number.POSITIVE_INFINITY ? null : since
  }
}

export function isSuspect({ member }: { readonly member: { readonly recoveries: number } }): boolean {
  return member.recoveries >= suspectRecoveries
}
