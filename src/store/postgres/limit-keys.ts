// The keys that limit occurrences, as far as a slice is concerned with them. Who takes, frees or waits for a key locks its row
// first: keys before claims before places, and keys in order, so that two who need the same ones do not block each other. The
// lock of a key also protects who holds it and who waits for it: neither can end or move to a claim meanwhile.
import type { Hold } from '../../model/limit.ts'
import { fromJson } from '../rows/json.ts'
import { column } from './arrays.ts'
import type { Session } from './database.ts'
import { ConflictError } from './failure.ts'

/** How many of those that hold a key are looked at: enough for all that overlap, which is one. */
const holdersSeen = 10

/** What is known of a locked key. */
export interface LimitKey {
  readonly key: string
  /** Of a rate: how many starts have to be known. */
  rateLimit: number
  /** Whether who holds it matters, and not only how many. */
  isOverlap: boolean
  /** How many of the occurrences in the slice name the key. */
  users: number
  /** Whether more may wait for it than were looked at. */
  hasMoreWaiting: boolean
}

/** That an occurrence names a key, or holds it. */
interface Use {
  readonly ref: number
  readonly key: string
  readonly hold: Hold | null
}

export class LimitKeys {
  readonly #session: Session
  readonly #mayWait: boolean
  readonly #known = new Map<string, LimitKey>()
  readonly #locked = new Set<string>()
  #isFirst = true

  /** @param isCompat The server does not know how to lock only what is free. */
  constructor(session: Session, isCompat: boolean) {
    this.#session = session
    this.#mayWait = isCompat
  }

  /** Locks a key by its name, before any that `lockFor` locks. */
  async lock(key: string): Promise<void> {
    await this.#session.all(lockInOrder, [column([key])])
  }

  get(key: string): LimitKey | undefined {
    return this.#known.get(key)
  }

  /** Locks the keys that these occurrences name or hold, and returns those that were not locked before. */
  async lockFor(refs: readonly number[]): Promise<readonly LimitKey[]> {
    const uses = await this.#usesOf(refs)
    await this.#lock(this.#unlockedOf(uses))
    return this.#note(uses)
  }

  /** The same, but nobody is waited for: those that need a key which another transaction has just now are named. */
  async lockFreeFor(refs: readonly number[]): Promise<{ readonly fresh: readonly LimitKey[]; readonly busy: readonly number[] }> {
    const uses = await this.#usesOf(refs)
    await this.#lockFree(this.#unlockedOf(uses))
    const busy = new Set(uses.filter(({ key }) => !this.#locked.has(key)).map(({ ref }) => ref))
    return { fresh: this.#note(uses.filter(({ ref }) => !busy.has(ref))), busy: [...busy] }
  }

  async #usesOf(refs: readonly number[]): Promise<readonly Use[]> {
    const values = [column(refs)]
    const [named, held] = await Promise.all([
      this.#session.all<[number, string]>(
        'SELECT ref, holds FROM punctual.occurrence WHERE ref = ANY($1::bigint[]) AND holds IS NOT NULL',
        values,
      ),
      this.#session.all<[number, string]>('SELECT ref, key FROM punctual.hold WHERE ref = ANY($1::bigint[])', values),
    ])
    return [
      ...named.flatMap(([ref, holds]) =>
        (fromJson<readonly Hold[]>(holds) ?? []).map((hold) => ({ ref: Number(ref), key: hold.key, hold })),
      ),
      ...held.map(([ref, key]) => ({ ref: Number(ref), key, hold: null })),
    ]
  }

  #unlockedOf(uses: readonly Use[]): string[] {
    return [...new Set(uses.map(({ key }) => key))].filter((key) => !this.#locked.has(key))
  }

  /** Remembers what the uses say of their keys, and returns the keys that were not known before. */
  #note(uses: readonly Use[]): readonly LimitKey[] {
    const fresh: LimitKey[] = []
    for (const { key, hold } of uses) {
      let known = this.#known.get(key)
      if (!known) {
        known = { key, rateLimit: 0, isOverlap: false, users: 0, hasMoreWaiting: false }
        this.#known.set(key, known)
        fresh.push(known)
      }
      known.users += 1
      if (hold?.perMs !== undefined) known.rateLimit = Math.max(known.rateLimit, hold.limit)
      if (hold?.kind === 'overlap') known.isOverlap = true
    }
    return fresh
  }

  /** A key that nobody has needed before is made; only who makes the same is waited for. */
  async #lockFree(keys: readonly string[]): Promise<void> {
    if (this.#mayWait || (this.#session.neededKeys?.size ?? 0) > 0) return this.#lock(keys)
    this.#isFirst = false
    if (keys.length === 0) return
    const found = new Map(await this.#session.all<[string, boolean]>(lockAndTell, [column(keys)]))
    const missing = keys.filter((key) => !found.has(key))
    if (missing.length > 0) await this.#session.all(lockInOrder, [column(missing)])
    for (const key of keys) if (found.get(key) !== false) this.#locked.add(key)
  }

  /**
   * The first keys are waited for, in order. Later ones, whose need shows only then, are not, since others may wait for what is
   * locked by now: where one is not free, the whole transaction is tried again and begins with all of them.
   */
  async #lock(keys: readonly string[]): Promise<void> {
    const { neededKeys } = this.#session
    const isFirst = this.#isFirst
    this.#isFirst = false
    if (keys.length === 0) return
    if (isFirst || neededKeys === undefined || this.#mayWait) {
      const all = [...new Set([...keys, ...(neededKeys ?? [])])]
      await this.#session.all(lockInOrder, [column(all)])
      for (const key of all) this.#locked.add(key)
      return
    }
    const free = await this.#session.all<[string]>(lockFree, [column(keys)])
    for (const [key] of free) this.#locked.add(key)
    if (free.length === keys.length) return
    for (const key of [...this.#locked, ...keys]) neededKeys.add(key)
    throw new ConflictError('another transaction has the keys that this one turned out to need')
  }

  /** Who holds those of these keys that overlap. */
  async holdersOf(keys: readonly LimitKey[]): Promise<number[]> {
    const overlaps = keys.filter(({ isOverlap }) => isOverlap).map(({ key }) => key)
    if (overlaps.length === 0) return []
    const rows = await this.#session.all<[number]>(
      `SELECT DISTINCT h.ref FROM unnest($1::text[]) k, LATERAL
        (SELECT ref FROM punctual.hold WHERE key = k ORDER BY seq LIMIT ${holdersSeen}) h`,
      [column(overlaps)],
    )
    return rows.map(([ref]) => Number(ref))
  }

  /** Who would be next for these keys, beside those that are known already: as many as there are occurrences that may let go. */
  async nextFor(keys: readonly LimitKey[], known: readonly number[]): Promise<number[]> {
    if (keys.length === 0) return []
    const rows = await this.#session.all<[string, number]>(
      `SELECT k.key, w.ref FROM unnest($1::text[], $2::int[]) k (key, next), LATERAL (
          (SELECT ref FROM punctual.waiting WHERE key = k.key AND NOT ref = ANY($3::bigint[]) ORDER BY due_at, ref LIMIT k.next)
          UNION (SELECT ref FROM punctual.waiting WHERE key = k.key ORDER BY seq LIMIT 1)) w`,
      [column(keys.map(({ key }) => key)), column(keys.map(({ users }) => users + 1)), column(known)],
    )
    const found = Map.groupBy(rows, ([key]) => key)
    for (const key of keys) key.hasMoreWaiting = (found.get(key.key)?.length ?? 0) > key.users
    const refs = new Set(rows.map(([, ref]) => Number(ref)))
    for (const ref of known) refs.delete(ref)
    return [...refs]
  }

  /** Who of the given holds these keys, in the order in which they got them, and how many do in all. */
  async holders(
    keys: readonly LimitKey[],
    refs: readonly number[],
  ): Promise<{ readonly held: readonly [key: string, ref: number][]; readonly counts: ReadonlyMap<string, number> }> {
    const names = column(keys.map(({ key }) => key))
    const [held, counts] = await Promise.all([
      this.#session.all<[string, number]>(
        'SELECT key, ref FROM punctual.hold WHERE key = ANY($1::text[]) AND ref = ANY($2::bigint[]) ORDER BY seq',
        [names, column(refs)],
      ),
      this.#session.all<[string, number]>(
        `SELECT k.key, h.holders FROM unnest($1::text[]) k (key)
          CROSS JOIN LATERAL (SELECT count(*) AS holders FROM punctual.hold WHERE key = k.key) h WHERE h.holders > 0`,
        [names],
      ),
    ])
    return {
      held: held.map(([key, ref]) => [key, Number(ref)]),
      counts: new Map(counts.map(([key, count]) => [key, Number(count)])),
    }
  }

  /** When the latest starts under these keys were, by key, the earliest first. */
  async starts(keys: readonly LimitKey[]): Promise<ReadonlyMap<string, readonly number[]>> {
    const rates = keys.filter(({ rateLimit }) => rateLimit > 0)
    if (rates.length === 0) return new Map()
    const rows = await this.#session.all<[string, number]>(
      `SELECT k.key, s.at FROM unnest($1::text[], $2::int[]) k (key, starts), LATERAL
        (SELECT at, seq FROM punctual.rate_start WHERE key = k.key ORDER BY seq DESC LIMIT k.starts) s ORDER BY s.seq`,
      [column(rates.map(({ key }) => key)), column(rates.map(({ rateLimit }) => rateLimit))],
    )
    const starts = Map.groupBy(rows, ([key]) => key)
    return new Map([...starts].map(([key, found]) => [key, found.map(([, at]) => at)]))
  }
}

// A row that is there is locked and stays as it is; one that is not is made. Both in one order, so that who makes a key while
// another waits for it does not wait for that one.
const lockInOrder = `INSERT INTO punctual.limit_key (key) SELECT k FROM unnest($1::text[]) k ORDER BY k
  ON CONFLICT (key) DO UPDATE SET key = excluded.key WHERE false`
const lockFree = 'SELECT key FROM punctual.limit_key WHERE key = ANY($1::text[]) ORDER BY key FOR UPDATE SKIP LOCKED'
const lockAndTell = `WITH free AS MATERIALIZED (${lockFree})
  SELECT k.key, f.key IS NOT NULL AS is_free FROM punctual.limit_key k LEFT JOIN free f ON f.key = k.key WHERE k.key = ANY($1::text[])`
