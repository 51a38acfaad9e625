import assert from 'node:assert/strict'
import { PunctualError } from '../../errors.ts'
import { uuidV7 } from '../../model/ids.ts'
import type { ClaimAnswer, ClaimMember, ClaimRef, MemberWrite, Store } from '../../store/store.ts'
import type { ManualClock } from '../manual-clock.ts'

/** A claim as its node knows it. */
export interface KnownClaim extends ClaimRef {
  readonly node: string
  readonly members: readonly { readonly id: string; readonly turn: number }[]
  /** Members whose turn the node has settled. */
  readonly settled: Set<string>
}

type Side = 'subject' | 'reference'

/** Two stores that get the same calls, and the state that their callers remember. */
export class ModelWorld {
  readonly claims: KnownClaim[] = []
  readonly ids: string[] = []
  readonly boots: string[] = ['node-1', 'node-2', 'node-3']
  readonly clock: ManualClock
  readonly reference: Store
  readonly #stores: Readonly<Record<Side, Store>>
  /** The newest member of each id and turn, as each side returned it. */
  readonly #members = { subject: new Map<string, ClaimMember>(), reference: new Map<string, ClaimMember>() }
  #lastId = 0

  constructor(subject: Store, reference: Store, clock: ManualClock) {
    this.#stores = { subject, reference }
    this.reference = reference
    this.clock = clock
  }

  get now(): number {
    return this.clock.wall()
  }

  newId(): string {
    const n = ++this.#lastId
    return uuidV7(this.now, (bytes) =>
      Uint8Array.from({ length: bytes }, (_, i) => (i === bytes - 1 ? n & 255 : i === bytes - 2 ? n >> 8 : 0)),
    )
  }

  newClaim(): ClaimRef {
    const n = ++this.#lastId
    return { id: `claim-${n}`, token: `token-${n}` }
  }

  /** A node that has left or was declared gone comes back under a new boot id. */
  restart(boot: string): void {
    this.boots[this.boots.indexOf(boot)] = `node-${++this.#lastId}`
  }

  /** Says the same to both and compares what they answer, errors by their code. Returns the answer of the reference. */
  async both<Answer>(
    say: (store: Store, side: Side) => Promise<Answer>,
    show: (answer: Answer, side: Side) => unknown = (answer) => answer,
  ): Promise<Answer | null> {
    const subject = await outcome(say(this.#stores.subject, 'subject'))
    const reference = await outcome(say(this.#stores.reference, 'reference'))
    const shown = (one: Outcome<Answer>, side: Side) => ('code' in one ? one : show(one.answer, side))
    assert.deepEqual(shown(subject, 'subject'), shown(reference, 'reference'))
    return 'code' in reference ? null : reference.answer
  }

  /** Remembers the store's own handles, and shows the answer without them. */
  showClaim(answer: ClaimAnswer, side: Side): unknown {
    for (const member of answer.members) {
      this.#members[side].set(member.record.id, member)
      this.#members[side].set(`${member.record.id} ${member.turn}`, member)
    }
    return {
      ...answer,
      passed: answer.passed.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
      members: answer.members.map(({ turn, record, dueAt, recoveries, jobSettings, lastRunAt, turns, attempts }) => ({
        ...{ turn, record, dueAt, recoveries, jobSettings, lastRunAt, turns },
        attempts: attempts.map(({ task, n }) => `${task} ${n}`).toSorted(),
      })),
    }
  }

  ref(side: Side, id: string): number {
    return this.#members[side].get(id)?.ref ?? 999_999
  }

  idOf(side: Side, ref: number): string | undefined {
    return [...this.#members[side].values()].find((known) => known.ref === ref)?.record.id
  }

  member(side: Side, claim: KnownClaim, { id, turn }: { id: string; turn: number }): MemberWrite {
    const member = this.#members[side].get(`${id} ${turn}`) as ClaimMember
    return { claim: { id: claim.id, token: claim.token }, member }
  }
}

type Outcome<Answer> = { readonly answer: Answer } | { readonly code: string }

async function outcome<Answer>(said: Promise<Answer>): Promise<Outcome<Answer>> {
  try {
    return { answer: await said }
  } catch (error) {
    if (error instanceof PunctualError) return { code: error.code }
    throw error
  }
}
