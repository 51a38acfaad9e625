import type { Transaction } from '../connection/transaction.ts'

interface KeyRow {
  readonly used: number
  readonly holder: number | null
}

interface KeyCount {
  readonly before: KeyRow
  used: number
  holder: number | null
}

const free: KeyRow = { used: 0, holder: null }

/** How often limit keys are granted. A slot that one hands to the next leaves its row as it was. */
export class KeyCounts {
  readonly #tx: Transaction
  readonly #keys = new Map<string, KeyCount>()

  constructor(tx: Transaction) {
    this.#tx = tx
  }

  used(key: string): number {
    return this.#of(key).used
  }

  setUsed(key: string, used: number): void {
    if (used < 0) throw new RangeError(`The count of ${key} fell below 0`)
    const count = this.#of(key)
    count.used = used
    if (used === 0) count.holder = null
  }

  holder(key: string): number | null {
    return this.#of(key).holder
  }

  setHolder(key: string, ref: number): void {
    this.#of(key).holder = ref
  }

  write(): void {
    for (const [key, { before, used, holder }] of this.#keys) {
      if (before.used === used && before.holder === holder) continue
      if (used === 0) this.#tx.run('DELETE FROM punctual_limit_key WHERE key = ?', key)
      else this.#tx.run('INSERT OR REPLACE INTO punctual_limit_key (key, used, holder) VALUES (?, ?, ?)', key, used, holder)
    }
  }

  #of(key: string): KeyCount {
    const known = this.#keys.get(key)
    if (known) return known
    const before = this.#tx.one<KeyRow>('SELECT used, holder FROM punctual_limit_key WHERE key = ?', key) ?? free
    const count = { before, used: before.used, holder: before.holder }
    this.#keys.set(key, count)
    return count
  }
}
