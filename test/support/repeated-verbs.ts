import type { TurnEnd } from '../../src/model/lifecycle.ts'
import type { Limit } from '../../src/model/limit.ts'
import type { CheckpointItem, NewOccurrence, Store } from '../../src/store/store.ts'
import { memberOf, memberRef, minute, type Scene } from '../../src/testing/store-suite/scene.ts'

/** A call of a verb, ready to be said. */
export interface Call {
  say(store: Store): Promise<unknown>
  /** The answer to the first call. */
  readonly first: unknown
  /** The answer to a repetition. */
  readonly again: unknown
}

interface RepeatedVerb {
  readonly name: string
  /** Part of the statement with which PostgreSQL commits it. */
  readonly commit: string
  arrange(scene: Scene): Promise<Call>
}

/** The end of the text belongs to it: a transaction also begins with this word, as part of another. */
const commit = 'COMMIT\0'
const limit: readonly Limit[] = [{ kind: 'concurrency', key: 'k', limit: 1 }]

/** The verbs that write, each by every way that the PostgreSQL store has for it. */
export const repeatedVerbs: readonly RepeatedVerb[] = [
  { name: 'create', commit: 'occurrence (ref, id', arrange: (scene) => creation(scene, {}) },
  { name: 'create with a key', commit: 'occurrence (ref, id', arrange: (scene) => creation(scene, { key: 'a' }) },
  { name: 'create with a live key', commit, arrange: (scene) => creation(scene, { key: 'a', unique: 'live' }) },
  { name: 'claim', commit: 'SKIP LOCKED', arrange: (scene) => claiming(scene, {}) },
  { name: 'claim with a limit', commit: 'claim_1(', arrange: (scene) => claiming(scene, { limits: limit }) },
  { name: 'settle the last turn', commit: 'turn (ref, turn, series', arrange: (scene) => settling(scene, 'completed') },
  { name: 'settle a turn before another', commit: 'turn (ref, turn, series', arrange: (scene) => settling(scene, 'parked') },
  { name: 'checkpoint', commit, arrange: (scene) => checkpointing(scene, {}) },
  { name: 'checkpoint with work', commit, arrange: (scene) => checkpointing(scene, { within: async () => '"done"' }) },
  { name: 'cancel', commit: 'cancel_1(', arrange: canceling },
  { name: 'plan', commit: 'occurrence (ref, id', arrange: planning },
  { name: 'beat', commit, arrange: beating },
]

async function creation(scene: Scene, over: Partial<NewOccurrence>): Promise<Call> {
  const row = scene.row(over)
  const answer = (outcome: string) => [{ id: row.id, outcome, state: 'pending', differs: false }]
  return { say: async (store) => (await store.create([row])).rows, first: answer('created'), again: answer('existing') }
}

async function claiming(scene: Scene, over: Partial<NewOccurrence>): Promise<Call> {
  await scene.join()
  const ids = [await scene.create(over), await scene.create()]
  const request = scene.claimRequest()
  const say = async (store: Store) => (await store.claim(request)).members.map(({ record, turn }) => [record.id, turn])
  const members = ids.map((id) => [id, 1])
  return { say, first: members, again: members }
}

async function settling(scene: Scene, end: TurnEnd): Promise<Call> {
  const holding = await scene.running({ limits: end === 'parked' ? limit : null })
  const item = scene.settleItem(holding, end)
  const say = async (store: Store) => (await store.settle([item], { done: [holding.claim] })).items
  return { say, first: ['ok'], again: ['ok'] }
}

async function checkpointing(scene: Scene, over: Partial<CheckpointItem>): Promise<Call> {
  const holding = await scene.running()
  const attempts = [scene.attempt({ state: 'succeeded', error: null, result: '"done"' })]
  const say = async (store: Store) => {
    const answer = await store.checkpoint([{ ...memberRef(holding), attempts, ...over }])
    const found = await store.get({ id: memberOf(holding).record.id })
    return [answer, found?.attempts.map(({ result }) => result)]
  }
  const answer = [['ok'], ['"done"']]
  return { say, first: answer, again: answer }
}

async function canceling(scene: Scene): Promise<Call> {
  const id = await scene.create()
  const answer = [{ id, outcome: 'canceled' }]
  return { say: (store) => store.cancel({ which: { id }, reason: null }), first: answer, again: answer }
}

async function planning(scene: Scene): Promise<Call> {
  await scene.join()
  const plan = scene.planOf(await scene.putJob(), [scene.now + minute, scene.now + 2 * minute])
  return {
    say: (store) => store.plan([plan]),
    first: [{ outcome: 'planned', created: 2 }],
    again: [{ outcome: 'behind' }],
  }
}

/** Of a node that does not know of a claim that it has, and believes in one that it has not. */
async function beating(scene: Scene): Promise<Call> {
  const { id } = await scene.running()
  const beat = { node: scene.node(), claims: ['none'], inFlight: [], long: [], phase: 'stay' } as const
  const say = async (store: Store) => {
    const { known, lost } = await store.beat(beat)
    return [known, lost, (await store.get({ id }))?.turns.map(({ end }) => end)]
  }
  const answer = [true, ['none'], ['released']]
  return { say, first: answer, again: answer }
}
