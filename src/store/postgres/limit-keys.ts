// The keys that limit occurrences, as far as a slice is concerned with them. Who takes, frees or waits for a key locks its row
// first: keys before claims before places, and keys in order, so that two who need the same ones do not block each other.
import type { Hold } from '../../model/hold.ts'
import { column } from './arrays.ts'
import type { Session } from './database.ts'
import { fromJson } from './records.ts'

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
}

export class LimitKeys {
  readonly #session: Session
  readonly #known = new Map<string, LimitKey>()

  constructor(session: Session) {
    this.#session = session
  }

  get all(): IterableIterator<LimitKey> {
    return this.#known.values()
  }

  get size(): number {
    return this.#known.size
  }

  /** Locks a key by its name. */
  async lock(key: string): Promise<void> {
    await this.#lock([key])
  }

  /** Locks the keys that these occurrences name or hold, and returns those that were not locked before. */
  async lockFor(refs: readonly number[]): Promise<readonly LimitKey[]> {
    const values = [column(refs)]
    const [named, held] = await Promise.all([
      this.#session.all<[string]>(
        'SELECT holds FROM punctual.occurrence WHERE ref = ANY($1::bigint[]) AND holds IS NOT NULL',
        values,
      ),
      this.#session.all<[string]>('SELECT key FROM punctual.hold WHERE ref = ANY($1::bigint[])', values),
    ])
    const fresh = new Map<string, LimitKey>()
    const note = (key: string) => {
      const known = this.#known.get(key) ?? fresh.get(key) ?? { key, rateLimit: 0, isOverlap: false, users: 0 }
      known.users += 1
      if (!this.#known.has(key)) fresh.set(key, known)
      return known
    }
    for (const [holds] of named) {
      for (const { kind, key, limit, perMs } of fromJson<readonly Hold[]>(holds) ?? []) {
        const known = note(key)
        if (perMs !== undefined) known.rateLimit = Math.max(known.rateLimit, limit)
        if (kind === 'overlap') known.isOverlap = true
      }
    }
    for (const [key] of held) note(key)
    await this.#lock([...fresh.keys()].sort())
    for (const [key, one] of fresh) this.#known.set(key, one)
    return [...fresh.values()]
  }

  async #lock(keys: readonly string[]): Promise<void> {
    if (keys.length === 0) return
    const values = [column(keys)]
    const [, locked] = await Promise.all([
      this.#session.all(
        `INSERT INTO punctual.limit_key (key) SELECT k FROM unnest($1::text[]) k
          WHERE NOT EXISTS (SELECT 1 FROM punctual.limit_key l WHERE l.key = k) ORDER BY k ON CONFLICT DO NOTHING`,
        values,
      ),
      this.#session.all('SELECT key FROM punctual.limit_key WHERE key = ANY($1::text[]) ORDER BY key FOR UPDATE', values),
    ])
    // Rows that nobody needed are swept: one may have gone just now.
    if (locked.length < keys.length) await this.#lock(keys)
  }

  /** The occurrences that these keys bring into play: who holds one that overlaps, and who would be next for one. */
  async related(keys: readonly LimitKey[]): Promise<number[]> {
    if (keys.length === 0) return []
    const overlaps = keys.filter(({ isOverlap }) => isOverlap).map(({ key }) => key)
    const [holders, waiting] = await Promise.all([
      this.#session.all<[number]>(
        `SELECT h.ref FROM unnest($1::text[]) k, LATERAL
          (SELECT ref FROM punctual.hold WHERE key = k ORDER BY seq LIMIT ${holdersSeen}) h`,
        [column(overlaps)],
      ),
      this.#session.all<[number]>(
        `SELECT w.ref FROM unnest($1::text[], $2::int[]) k (key, next), LATERAL (
          (SELECT ref FROM punctual.waiting WHERE key = k.key ORDER BY due_at, ref LIMIT k.next)
          UNION (SELECT ref FROM punctual.waiting WHERE key = k.key ORDER BY seq LIMIT 1)) w`,
        [column(keys.map(({ key }) => key)), column(keys.map(({ users }) => users + 1))],
      ),
    ])
    return [...new Set([...holders, ...waiting].map(([ref]) => Number(ref)))]
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
        'SELECT key, count(*) AS holders FROM punctual.hold WHERE key = ANY($1::text[]) GROUP BY key',
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
