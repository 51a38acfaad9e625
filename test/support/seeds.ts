import { type Connect, onEachStore, type StoreName } from './each-store.ts'

const { SEEDS, SEED, STORE } = process.env

interface Share {
  /** How many seeds a usual run has. */
  readonly few: number
  /** The first of them. */
  readonly from?: number
  /** The stores, and which part of the seeds each takes. */
  readonly shares: Partial<Record<StoreName, number>>
}

/** Registers a random test with its seeds. SEEDS sets how many, SEED the first, STORE the only store, which then takes all. */
export function onEachSeed(
  title: string,
  { few, from = 1, shares }: Share,
  register: (newDatabase: () => Connect, seeds: readonly number[]) => void,
): void {
  const chosen = STORE === undefined ? shares : { [STORE]: 1 }
  const withSeeds = (newDatabase: () => Connect, name: StoreName) => {
    const count = Math.ceil(Number(SEEDS ?? few) * (chosen[name] ?? 0))
    register(
      newDatabase,
      Array.from({ length: count }, (_, at) => Number(SEED ?? from) + at),
    )
  }
  onEachStore(title, withSeeds, Object.keys(chosen) as StoreName[])
}
