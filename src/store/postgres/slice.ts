// The part of the ledger that one verb is about. It is locked and loaded, the verb runs on it as it would in memory, and what
// has changed is written in the same transaction. Decisions are thus made in one place for all stores, and a verb costs a
// handful of statements however many occurrences it moves.
import type { TurnRecord } from '../../model/occurrence.ts'
import { type Claim, type Entry, jobKey, Ledger, stateOf } from '../ledger/ledger.ts'
import type { Hint } from '../store.ts'
import { column } from './arrays.ts'
import { each } from './by-key.ts'
import { type Context, storeNow } from './context.ts'
import type { Session } from './database.ts'
import { type Loaded, readEntries, turnName } from './entries.ts'
import { ConflictError } from './failure.ts'
import { type LimitKey, LimitKeys } from './limit-keys.ts'

/** An entry as it was when it was loaded. */
export interface Before {
  readonly entry: Readonly<Entry>
  readonly state: ReturnType<typeof stateOf>
  readonly holding: ReadonlySet<string>
  readonly turns: number
  readonly attempts: number
}

const mostTries = 20

export class Slice {
  readonly context: Context
  readonly session: Session
  readonly ledger: Ledger
  readonly now: number
  readonly pauseRevision: number
  readonly aliveSince: number
  /** The kinds whose rows are kept in lanes. */
  readonly laned: Set<number>
  readonly hints: Hint[] = []
  readonly before = new Map<number, Before>()
  readonly ended: { readonly entry: Entry; readonly end: TurnRecord; readonly dueAt: number }[] = []
  readonly started: { readonly key: string; readonly at: number; readonly until: number }[] = []
  /** The claims that stood when they were locked. */
  readonly claimsBefore = new Set<string>()
  readonly keys: LimitKeys
  readonly #newRefs: number[]
  /** Keys that one who waits could try for, of whom none is known here yet. */
  readonly #unserved = new Set<string>()
  #prepared: LimitKey[] = []

  static async begin(session: Session, context: Context, newRefs = 0): Promise<Slice> {
    const [rows, refs] = await Promise.all([
      session.all<[number, number, number, string | null]>(
        `SELECT ${storeNow} AS now, pause_revision, alive_since,
          (SELECT string_agg(ref::text, ',') FROM punctual.kind WHERE laned) AS laned FROM punctual.meta`,
        [context.now()],
      ),
      newRefs === 0
        ? []
        : session.all<[number]>(`SELECT nextval('punctual.occurrence_ref_seq') AS ref FROM generate_series(1, $1::int)`, [
            newRefs,
          ]),
    ])
    const [now, revision, aliveSince, laned] = rows[0] as [number, number, number, string | null]
    const slice = new Slice(session, context, {
      now,
      pauseRevision: Number(revision),
      aliveSince,
      laned: new Set(laned === null ? [] : laned.split(',').map(Number)),
      newRefs: refs.map(([ref]) => Number(ref)),
    })
    slice.ledger.pauses.push(...(await context.facts.pausesAt(session, slice.pauseRevision)))
    slice.ledger.pauseRevision = slice.pauseRevision
    return slice
  }

  constructor(
    session: Session,
    context: Context,
    at: {
      readonly now: number
      readonly pauseRevision: number
      readonly aliveSince: number
      readonly laned: Set<number>
      readonly newRefs: number[]
    },
  ) {
    this.session = session
    this.context = context
    this.now = at.now
    this.pauseRevision = at.pauseRevision
    this.aliveSince = at.aliveSince
    this.laned = at.laned
    this.#newRefs = at.newRefs
    this.keys = new LimitKeys(session, context.isCompat)
    this.ledger = new Ledger({
      now: () => this.now,
      newRef: () => this.#newRefs.shift() as number,
      journal: {
        ended: (entry, end) => this.ended.push({ entry, end, dueAt: entry.dueAt }),
        started: (key, at, until) => this.started.push({ key, at, until }),
        noneWaits: (key) => {
          if (this.keys.get(key)?.hasMoreWaiting) this.#unserved.add(key)
        },
      },
    })
    this.ledger.listeners.add((hint) => this.hints.push(hint))
  }

  /** Sees to it that none of the pauses in force ends before what is held back for its sake can be found by who ends it. */
  async countOnPauses(): Promise<void> {
    if (!this.ledger.pauses.some(({ to }) => to === null || to > this.now)) return
    const [row] = await this.session.all<[number]>('SELECT pause_revision FROM punctual.meta FOR KEY SHARE')
    if (Number(row?.[0]) !== this.pauseRevision) throw new ConflictError('pauses have changed')
  }

  /** Reads what these jobs say. */
  async loadVersions(series: Iterable<number>): Promise<void> {
    const refs = [...new Set(series)]
    await this.context.facts.refresh(this.session, refs)
    for (const ref of refs) {
      const { tenant, job } = this.context.dictionary.seriesByRef(ref)
      const versions = this.context.facts.versions(ref) ?? []
      if (versions.length > 0) this.ledger.versions.set(jobKey(tenant, job), versions)
    }
  }

  /** Locks claims by their ids and makes them known; those that no longer stand are left out. */
  async lockClaims(ids: readonly string[], { onlyFree = false } = {}): Promise<readonly Claim[]> {
    if (ids.length === 0) return []
    const lock = onlyFree && !this.context.isCompat ? `${claimsById} SKIP LOCKED` : claimsById
    return this.#noteClaims(await this.session.all<ClaimTuple>(lock, [column(ids)]))
  }

  /** Locks the keys of what is about to be locked and loaded, and tells whether any was not locked before. */
  async prepareKeys(refs: readonly number[]): Promise<boolean> {
    const fresh = await this.keys.lockFor(refs)
    this.#prepared.push(...fresh)
    return fresh.length > 0
  }

  /** The same where keys that others have just now are not waited for; tells also which of these they keep out. */
  async prepareFreeKeys(refs: readonly number[]): Promise<{ readonly isFresh: boolean; readonly busy: readonly number[] }> {
    const { fresh, busy } = await this.keys.lockFreeFor(refs)
    this.#prepared.push(...fresh)
    return { isFresh: fresh.length > 0, busy }
  }

  /** Locks and loads entries, with all that their limits bring into play. */
  async gather(refs: readonly number[], options: LoadOptions = {}): Promise<void> {
    const fresh = refs.filter((ref) => !this.before.has(ref))
    const keys = this.#prepared.splice(0)
    if (!options.isReady && fresh.length > 0) keys.push(...(await this.keys.lockFor(fresh)))
    if (options.claims) await this.lockClaims(options.claims, options)
    const loaded = await this.#load(fresh, options)
    await this.#gatherRelated(loaded, keys, options)
    await this.#seat(loaded, keys)
  }

  /** Loads those next for the keys. Who claims may come to try them and to cancel who holds a key, and needs all of their keys too. */
  async #gatherRelated(loaded: Loaded[], keys: LimitKey[], { isReady = false }: LoadOptions): Promise<void> {
    for (let more: readonly LimitKey[] = keys; more.length > 0; ) {
      const known = new Set([...this.before.keys(), ...loaded.map(({ entry }) => entry.ref)])
      const holders = isReady ? await this.keys.holdersOf(more) : []
      const next = await this.keys.nextFor(more, [...known])
      const related = [...new Set([...holders, ...next])].filter((ref) => !known.has(ref))
      if (related.length === 0) return
      more = isReady ? await this.keys.lockFor(related) : []
      keys.push(...more)
      loaded.push(...(await this.#load(related, { isProtected: true, withAttempts: isReady })))
    }
  }

  /** Lets those try for a freed key who were not known when it was freed: a verb may free it more often than could be foreseen. */
  async serveWaiting(): Promise<void> {
    for (const key of this.#unserved) {
      this.#unserved.delete(key)
      const next = await this.keys.nextFor([this.keys.get(key) as LimitKey], [...this.before.keys()])
      await this.#seat(await this.#load(next, { isProtected: true }), [])
      if (next.length > 0) this.ledger.wake(key)
    }
  }

  async #load(refs: readonly number[], options: LoadOptions & { readonly isProtected?: boolean }): Promise<Loaded[]> {
    const { session, context } = this
    const { isReady = false, isProtected = false, onlyFree = false, withAttempts = false } = options
    if (isReady) return readEntries(session, context.dictionary, refs, { withAttempts, claims: [] })
    let areClaimsKnown = isProtected || options.claims !== undefined
    let strays = new Set<string>()
    for (let tries = 1; refs.length > 0; tries++) {
      if (!areClaimsKnown) await this.#noteClaims(await session.all<ClaimTuple>(claimsOver, [column(refs)]))
      const claims = isProtected ? [] : [...this.ledger.claims.keys()]
      // Sent together, and taken one after the other: what is read is read when the places have been locked.
      const [places, loaded] = await Promise.all([
        session.all<[number]>(lockPlaces, [column([...refs].sort((a, b) => a - b))]),
        readEntries(session, context.dictionary, refs, { withAttempts, claims }),
      ])
      const locked = new Set(places.map(([ref]) => Number(ref)))
      // Between two statements one may have gone from a claim to a place, or the other way. One that no claim is found to hold in
      // all the time between two reads was left behind by who gave up the claim.
      const seen = strays
      const isFixed = ({ entry }: Loaded) =>
        isElsewhere(entry)
          ? isProtected || onlyFree || (!areClaimsKnown && seen.has(turnName(entry.ref, entry.turn)))
          : entry.place === 'claimed' || isOver(entry) || locked.has(entry.ref)
      if (loaded.every(isFixed)) return onlyFree ? loaded.filter(({ entry }) => !isElsewhere(entry)) : loaded
      strays = new Set(loaded.filter(({ entry }) => isElsewhere(entry)).map(({ entry }) => turnName(entry.ref, entry.turn)))
      areClaimsKnown = isProtected
      if (tries >= mostTries) throw new ConflictError('rows keep moving')
    }
    return []
  }

  async #seat(loaded: readonly Loaded[], keys: readonly LimitKey[]): Promise<void> {
    const { ledger } = this
    for (const { entry } of loaded.toSorted((a, b) => a.entry.ref - b.entry.ref)) {
      if (this.before.has(entry.ref)) continue
      this.before.set(entry.ref, {
        entry: { ...entry },
        state: stateOf(entry),
        holding: new Set(entry.holding),
        turns: entry.turns.length,
        attempts: entry.attempts.length,
      })
      ledger.restore(entry)
    }
    const waiting = loaded.filter(({ entry }) => entry.place === 'waiting')
    for (const { entry } of waiting.sort((a, b) => (a.waitSeq ?? 0) - (b.waitSeq ?? 0))) {
      ledger.waiting.delete(entry)
      ledger.waiting.add(entry)
    }
    const fresh = new Set(keys.map(({ key }) => key))
    for (const { entry } of loaded) for (const key of entry.holding) if (!fresh.has(key)) this.#see(entry, key)
    if (keys.length === 0) return
    const [{ held, counts }, starts] = await Promise.all([
      this.keys.holders(keys, [...this.before.keys()]),
      this.keys.starts(keys),
    ])
    for (const [key, ref] of held) {
      const holders = ledger.holders.get(key) ?? new Set()
      ledger.holders.set(key, holders.add(ledger.entries.get(ref) as Entry))
    }
    for (const { key } of keys) ledger.unseenHolders.set(key, (counts.get(key) ?? 0) - (ledger.holders.get(key)?.size ?? 0))
    for (const [key, ats] of starts) ledger.starts.set(key, ats)
  }

  /** One that was only counted among those who hold a key is known now. */
  #see(entry: Entry, key: string): void {
    const { holders, unseenHolders } = this.ledger
    const unseen = unseenHolders.get(key)
    if (unseen === undefined || holders.get(key)?.has(entry)) return
    holders.set(key, (holders.get(key) ?? new Set()).add(entry))
    unseenHolders.set(key, unseen - 1)
  }

  async #noteClaims(rows: readonly ClaimTuple[]): Promise<readonly Claim[]> {
    const { dictionary } = this.context
    await dictionary.learn(this.session, { boots: rows.map(([, , node]) => node) })
    return rows.map(([id, token, node, refs]) => {
      const claim = { id, token, node: dictionary.bootName(node), refs: refs.split(',').map(Number) }
      this.ledger.claims.set(id, claim)
      this.claimsBefore.add(id)
      return claim
    })
  }
}

export interface LoadOptions {
  /** Claims to lock first, by their ids. */
  readonly claims?: readonly string[]
  /** They are rows of ready that are to be claimed; they are locked already, and so are their keys. */
  readonly isReady?: boolean
  /** Claims that others have locked are left out, and with them what is claimed by any but the given ones. */
  readonly onlyFree?: boolean
  readonly withAttempts?: boolean
}

function isElsewhere({ place, claim }: Entry): boolean {
  return place === 'claimed' && claim === null
}

function isOver(entry: Entry): boolean {
  return entry.place === 'ended' && stateOf(entry) !== 'dead'
}

type ClaimTuple = [id: string, token: string, node: number, refs: string]

const claimColumns = `c.id, c.token, c.node, array_to_string(c.refs, ',') AS refs`
const claimsById = `SELECT ${claimColumns} FROM punctual.claim c WHERE c.id = ANY($1::text[]) ORDER BY c.id FOR UPDATE`
const claimsOver = `SELECT ${claimColumns} FROM punctual.claim c
  WHERE EXISTS (SELECT 1 FROM unnest(c.refs) m WHERE m = ANY($1::bigint[])) ORDER BY c.id FOR UPDATE`

/** Locks them in the order in which they are given. */
export const lockPlace = (table: string, lock = 'FOR UPDATE') => `SELECT p.ref FROM unnest($1::bigint[]) k (ref)
  CROSS JOIN ${each('occurrence', 'ref = k.ref', { columns: 'series, ref' })} o
  CROSS JOIN ${each(table, 'series = o.series AND ref = o.ref', { columns: 'ref', lock })} p`
const lockPlaces = `WITH r AS (${lockPlace('ready')}), w AS (${lockPlace('waiting')}), d AS (${lockPlace('dead')})
  SELECT ref FROM r UNION ALL SELECT ref FROM w UNION ALL SELECT ref FROM d`
