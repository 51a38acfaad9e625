// The call of each verb of a random step, made on both stores.

import type { AuditAction } from '../../model/audit.ts'
import { keyedId } from '../../model/ids.ts'
import type { TurnEnd } from '../../model/lifecycle.ts'
import type { AttemptLog } from '../../model/occurrence.ts'
import type {
  AuditNote,
  CancelRequest,
  ClaimAnswer,
  ClaimPick,
  ClaimRequest,
  GateWrite,
  MoveRequest,
  NewOccurrence,
  OnConflict,
  Pace,
  SettleItem,
} from '../../store/store.ts'
import { byTenant, limitSets, randomPlan, shownWork } from './model-plan.ts'
import { pick, type Step, type StepVerb } from './model-step.ts'
import type { KnownClaim, ModelWorld } from './model-world.ts'
import { nodeInfo } from './scene.ts'

const jobs = ['mail', 'report']
const kinds = [...jobs, 'report\t2']
const entities = [null, 'e1', 'e2']
const tenants = ['acme', 'globex']

export const doStep: Readonly<Record<StepVerb, (world: ModelWorld, step: Step) => Promise<unknown>>> = {
  async create(world, { a, b, c }) {
    const rows = Array.from({ length: 1 + (a % 3) }, (_, i) => newRow(world, a + i, b + 7 * i, c))
    const audit = auditOf(world, 'trigger', c)
    const answer = await world.both((store) => store.create(rows, audit))
    for (const { id } of answer?.rows ?? []) if (!world.ids.includes(id)) world.ids.push(id)
  },

  putJob: (world, { a, b, c }) => {
    const spec = {
      definition: 'report',
      ...(b % 4 === 0 && { edition: 2 }),
      schedule: c % 8 === 0 ? null : { kind: 'cron', text: '* * * * *' },
      payload: pick([null, '1', '2'], b),
      settings: pick([{}, { priority: 3 }, { concurrency: { key: 'k', limit: 2 }, startWithinMs: 4000 }], c >> 3),
      defaults: {},
      tasks: [{ name: 'run' }],
      isEnabled: c % 7 !== 0,
      isRetired: c % 11 === 0,
    }
    const put = {
      tenant: pick(tenants, a),
      name: 'report',
      spec,
      declared: pick([spec, null], a >> 1),
      override: pick([null, { payload: '2' }], a >> 2),
      effectiveAt: pick([null, null, world.now + 700, world.now + 5000, world.now - 5000], b >> 2),
      by: pick([null, 'ada'], a >> 3),
      ...(c % 5 === 0 && { expectedVersion: b % 4 }),
    }
    const audit = auditOf(world, 'update', c)
    return world.both((store) => store.putJob({ ...put, ...audit }))
  },

  pause: (world, { a, b, c }) => {
    const scope = pick(
      [
        { tenant: 'acme', job: 'report' },
        { tenant: 'acme', job: 'mail' },
        { tenant: 'globex', job: null },
        { tenant: null, job: 'report' },
        { tenant: null, job: null },
      ],
      a,
    )
    const until = pick([null, { in: 500 }, world.now + 3000, { in: 20_000 }], b)
    const open = c % 5 > 1 ? null : { until, reason: pick([null, 'freeze'], b >> 2), by: null }
    const audit = auditOf(world, 'pause', a)
    return world.both((store) => store.pause({ ...scope, open, ...audit }))
  },

  async plan(world, { a, b, c }) {
    const work = await world.both((store) => store.jobsToPlan({ horizonMs: 10_000, limit: 10 }), shownWork)
    const candidate = work && pick(work.jobs.toSorted(byTenant), a)
    if (!candidate) return
    const plan = randomPlan(candidate, work.pauseRevision, { a, b, c })
    for (const { id } of plan.rows) if (!world.ids.includes(id)) world.ids.push(id)
    await world.both((store) => store.plan([plan]))
  },

  async claim(world, step) {
    const request = await claimRequest(world, step)
    const answer = await world.both(
      (store) => store.claim(request),
      (said, side) => world.showClaim(said, side),
    )
    if (answer) remember(world, request, answer)
  },

  async reclaim(world, { a, c }) {
    // One that has ended would be a new claim, which its node would have to remember.
    const claim = pick(await standing(world), a)
    if (!claim) return
    const { id, token, node } = claim
    const request = { id, token: c % 7 === 0 ? 'guessed' : token, node, kinds, limit: 3 }
    await world.both(
      (store) => store.claim(request),
      (said, side) => world.showClaim(said, side),
    )
  },

  async checkpoint(world, { a, b, c }) {
    const claim = pick(world.claims, a)
    if (!claim) return
    const member = pick(claim.members, b)
    const attempts = Array.from({ length: c % 3 }, (_, i) => ({
      turn: member.turn,
      task: pick(['one', 'two'], b),
      n: 1 + i + (c % 2),
      state: 'failed' as const,
      startedAt: world.now,
      endedAt: world.now,
      result: null,
      error: { message: 'no' },
      retryAt: null,
    }))
    const start = c % 2 === 0 ? { start: { startedAt: world.now, deadlineAt: world.now + pick([0, 3000, 60_000], a) } } : {}
    const progress = c % 3 === 0 ? { progress: { task: 'one', done: 0.5, message: null, at: world.now } } : {}
    await world.both((store, side) =>
      store.checkpoint([{ ...world.member(side, claim, member), attempts, logs: logsOf(member, c), ...start, ...progress }]),
    )
  },

  async settle(world, { a, b, c }) {
    const claim = pick(world.claims, a)
    if (!claim) return
    const members = claim.members.slice(b % claim.members.length).slice(0, 1 + (c % 3))
    const ends = members.map((_, i) =>
      settled(world, pick(['completed', 'completed', 'parked', 'failed', 'dead', 'released', 'canceled'] as const, b + i), c),
    )
    for (const { id } of members) claim.settled.add(id)
    const done = claim.settled.size === claim.members.length ? [{ id: claim.id, token: claim.token }] : []
    // Every other settle takes the next work in the same commit.
    const next = c % 2 === 0 ? await claimRequest(world, { a: b, b: c, c: a }) : null
    const answer = await world.both(
      (store, side) =>
        store.settle(
          members.map((member, i) => ({
            ...world.member(side, claim, member),
            ...(ends[i] as ReturnType<typeof settled>),
            logs: logsOf(member, b),
          })),
          { done, ...(next && { claim: next }) },
        ),
      ({ items, claimed }, side) => ({ items, claimed: claimed && world.showClaim(claimed, side) }),
    )
    if (next && answer?.claimed) remember(world, next, answer.claimed)
  },

  cancel: (world, { a, b, c }) => {
    const audit = auditOf(world, 'cancel', c)
    return world.both(
      (store) => store.cancel({ which: whichToCancel(world, a, b), reason: pick([null, 'paid'], c), ...audit }),
      (answers) => answers.toSorted((x, y) => (x.id < y.id ? -1 : 1)),
    )
  },

  async move(world, { a, b, c }) {
    const dead = (await world.reference.list({ states: ['dead'], limit: 10 })).items
    const which = a % 3 === 0 || dead.length === 0 ? whichOne(world, a, b) : { id: pick(dead, b).id }
    const tos: MoveRequest['to'][] = [
      { due: { in: 0 } },
      { due: world.now + 3000 },
      { retry: { in: 500 } },
      { retry: { in: 0 }, payload: '3' },
      { discard: 'obsolete' },
      { release: 'stuck' },
    ]
    const audit = auditOf(world, 'reschedule', b)
    await world.both((store) => store.move({ which, to: pick(tos, c), ...audit }))
  },

  async gate(world, { a, b, c }) {
    const place = { tenant: pick(tenants, a), scope: pick(['charge', 'mail'], a >> 1), key: pick(['k1', 'k2'], a >> 2) }
    const holder = pick(['h1', 'h2'], b)
    const keepMs = pick([null, 3000], c >> 1)
    const claim = c % 2 === 0 ? pick(world.claims, b) : undefined
    const member = claim && pick(claim.members, c)
    const writes: readonly ((side: 'subject' | 'reference') => GateWrite)[] = [
      (side) => ({
        ...{ act: 'reserve', ...place, holder, keepMs, takesUnknown: b % 3 === 0, holdMs: pick([0, 2000, 60_000], c) },
        ...{ fingerprint: pick([null, null, 'f1', 'f2'], b >> 2), occurrence: member?.id ?? null },
        member: claim && member ? world.member(side, claim, member) : null,
      }),
      () => ({ act: 'record', ...place, holder, keepMs, result: '1' }),
      () => ({ act: 'release', ...place, holder }),
      () => ({ act: 'doubt', ...place, holder, reason: 'timeout' }),
      () => ({ act: 'resolve', ...place, to: pick([null, { result: '2', keepMs }], b >> 2) }),
    ]
    const write = c % 3 === 0 ? pick(writes, c >> 2) : pick(writes, 0)
    await world.both((store, side) => store.gate(write(side)))
  },

  async beat(world, { a, b, c }) {
    const boot = pick(world.boots, a)
    const own = world.claims.filter((claim) => claim.node === boot && claim.settled.size < claim.members.length)
    const claims = own.filter((_, i) => (b + i) % 7 !== 0).map(({ id }) => id)
    const inFlight = own.filter((_, i) => (b + i) % 14 === 0).map(({ id }) => id)
    const long = own.flatMap((claim) => claim.members.filter((_, i) => (c + i) % 5 === 0))
    const isKnown = (await world.reference.nodes()).nodes.some((node) => node.boot === boot)
    const phase =
      !isKnown && c % 6 !== 0 ? 'join' : pick(['stay', 'stay', 'stay', 'join', 'stay', 'stay', 'stay', 'leave'] as const, c)
    const answer = await world.both(
      (store, side) => {
        const times = { startedAt: world.now, deadlineAt: world.now + pick([0, 4000], b) }
        const deadlines = long.map(({ id, turn }) => ({ ref: world.ref(side, id), turn, ...times }))
        return store.beat({ node: nodeInfo({ boot, name: boot, kinds }), claims, inFlight, long: deadlines, phase })
      },
      ({ lost, cancels, over, ...rest }, side) => ({
        ...rest,
        lost: lost.toSorted(),
        over: over.map(({ ref, turn }) => JSON.stringify([world.idOf(side, ref), turn])).toSorted(),
        cancels: cancels
          .map(({ ref, ...notice }) => JSON.stringify([world.idOf(side, ref), notice.turn, notice.reason]))
          .toSorted(),
      }),
    )
    if (b % 29 === 0)
      await world.both(
        (store) => store.nodes({ drain: { node: boot } }),
        ({ nodes }) => nodes.map(({ isDraining }) => isDraining),
      )
    if (phase === 'leave' || answer?.known === false) world.restart(boot)
  },

  async rescue(world, { a, b, c }) {
    const { nodes } = await world.reference.nodes()
    const gone = nodes
      .filter((_, i) => (a + i) % 3 !== 0)
      .map(({ boot, beats }) => ({ boot, beats: b % 7 === 0 ? beats - 1 : beats }))
    await world.both(
      (store) =>
        store.rescue({
          gone,
          settings: { retry: { intervalMs: pick([1000, 0], c), max: pick([3, 1, 0], a) } },
          mostRecoveries: pick([3, 2, 1, 0], c),
          limit: 100,
          kinds: pick([[], jobs, kinds], b),
          hookMs: 3000,
        }),
      ({ rescued, removed, more, expired, openHooks }) => ({
        openHooks: openHooks.map(({ id }) => id).toSorted(),
        rescued: rescued.toSorted((x, y) => (x.id < y.id ? -1 : 1)),
        expired: expired.toSorted((x, y) => (x.id < y.id ? -1 : 1)),
        removed: removed.toSorted(),
        more,
      }),
    )
  },

  prune: (world, { a }) =>
    world.both((store) =>
      store.prune({ endedBefore: world.now - pick([0, 5000, 60_000], a), keyRetentionMs: 1e12, limit: 1000 }),
    ),

  async pass(world, { a, b }) {
    const ms = pick([1, 200, 500, 500, 1000, 1000, 3000, 5000, 15_000, 15_001, 40_000], a)
    if (b % 15 === 0) world.clock.jump(pick([-2000, 20_000], b))
    await world.clock.advance(ms)
  },
}

function newRow(world: ModelWorld, a: number, b: number, c: number): NewOccurrence {
  const tenant = pick(tenants, a)
  const job = pick(jobs, b >> 3)
  const [key, unique] = pick(
    [
      [null, 'ever'],
      [null, 'ever'],
      ['k1', 'ever'],
      ['k2', 'ever'],
      ['l1', 'live'],
      ['l2', 'live'],
    ] as const,
    b,
  )
  return {
    id: key !== null && unique === 'ever' ? keyedId(tenant, job, key) : world.newId(),
    tenant,
    job,
    definition: job,
    source: pick(['deferred', 'manual', 'timer'] as const, c),
    key,
    unique,
    entity: pick(entities, c),
    parent: a % 3 === 0 ? (pick(world.ids, b) ?? null) : null,
    refs: pick([{}, { order: '1' }], a),
    payload: pick([null, '1', '2'], c >> 2),
    settings: pick([null, { timeoutMs: 5 }], b),
    priority: pick([5, 5, 0, 9], c >> 1),
    limits: c % 10 === 0 ? 'declared' : pick(limitSets, a >> 2),
    replay: pick([null, null, { origin: 'o', reason: 'again', tasks: null }], a),
    startWithinMs: pick([null, null, null, null, null, 2000], a >> 1),
    isHooked: b % 5 === 0,
    scheduledAt: pick([null, null, null, world.now - 60_000], a >> 3),
    version: pick([null, null, null, 1], b >> 1),
    due: pick([{ in: 0 }, { in: 0 }, world.now - 1000, { in: 500 }, world.now + 5000], c >> 3),
    onConflict: unique === 'live' && a % 2 === 0 ? pick(paces, c >> 4) : pick(onConflicts, c >> 4),
  }
}

const onConflicts: readonly OnConflict[] = ['keep', 'reschedule', 'replace']

const paces: readonly Pace[] = [
  { debounce: { waitMs: 500, longestMs: 3000 } },
  { debounce: { waitMs: 500, longestMs: null } },
  { throttle: { perMs: 1000 } },
  { throttle: { perMs: 20_000 } },
]

async function claimRequest(world: ModelWorld, { a, b, c }: Pick<Step, 'a' | 'b' | 'c'>): Promise<ClaimRequest> {
  const known = (await world.reference.nodes()).nodes.map(({ boot }) => boot)
  const dueBy = c % 5 === 0 ? { dueBy: world.now - 400 } : {}
  const clusterLimit = c % 6 === 0 ? { clusterLimit: 1 + (c % 4) } : {}
  const picks = a % 5 === 0 ? { pick: pick(claimPicks, a >> 3) } : {}
  return {
    ...world.newClaim(),
    node: pick(a % 9 === 0 || known.length === 0 ? world.boots : known, b),
    kinds: pick([['mail'], jobs, kinds, kinds], b),
    limit: 1 + (b % 4),
    ...dueBy,
    ...clusterLimit,
    ...picks,
  }
}

function remember(world: ModelWorld, { id, token, node }: ClaimRequest, { members }: ClaimAnswer): void {
  if (members.length === 0) return
  const known = members.map(({ record, turn }) => ({ id: record.id, turn }))
  world.claims.push({ id, token, node, members: known, settled: new Set() })
}

const claimPicks: readonly ClaimPick[] = [
  { kind: 'fair' },
  { kind: 'quotas', quotas: [{ tenant: 'acme', limit: 1 }, { limit: 2 }] },
  { kind: 'quotas', quotas: [{ job: 'mail', priority: 5, limit: 1 }] },
]

function settled(world: ModelWorld, end: TurnEnd, c: number): Omit<SettleItem, 'claim' | 'member'> {
  const startedAt = c % 4 === 0 ? null : world.now - (c % 50)
  const error = c % 2 === 0 ? { message: pick(['no route', 'no room'], c >> 1) } : null
  return {
    end: { end, startedAt, endedAt: world.now, result: null, error, attempt: null, settings: null, tasks: null, reason: null },
    attempts: [],
    delayMs: pick([0, 500, 2000], c),
    ...(c % 3 === 0 && { hookMs: 1000 }),
  }
}

function logsOf({ turn }: { readonly turn: number }, c: number): readonly AttemptLog[] {
  return c % 4 === 0 ? [{ turn, task: pick(['one', 'two'], c >> 2), n: 1 + (c % 2), text: String(c % 10) }] : []
}

function whichOne({ ids }: ModelWorld, a: number, b: number): MoveRequest['which'] {
  const id = pick(ids, a)
  if (id === undefined || b % 4 === 0)
    return { tenant: pick(tenants, a), job: pick(jobs, b >> 2), key: pick(['k1', 'k2', 'l1', 'l2'], a >> 1) }
  return b % 5 === 0 ? { id, tenant: pick(tenants, b) } : { id }
}

function whichToCancel(world: ModelWorld, a: number, b: number): CancelRequest['which'] {
  if (b % 3 === 0) return { tenant: pick(tenants, a), job: pick(jobs, b), entity: pick(['e1', 'e2'], a) }
  return whichOne(world, a, b)
}

/** Every other act is recorded. */
function auditOf(world: ModelWorld, action: AuditAction, n: number): { audit?: AuditNote } {
  return n % 2 === 0 ? {} : { audit: { act: world.newId(), actor: 'ada', action, reason: null } }
}

/** Claims that still have a member running, by the reference. */
async function standing(world: ModelWorld): Promise<readonly KnownClaim[]> {
  const found: KnownClaim[] = []
  for (const claim of world.claims) {
    const histories = await Promise.all(claim.members.map(({ id }) => world.reference.get({ id })))
    const runs = histories.some(
      (history, i) =>
        history?.state === 'running' && history.node === claim.node && history.turns.length === (claim.members[i]?.turn ?? 0) - 1,
    )
    if (runs) found.push(claim)
  }
  return found
}
