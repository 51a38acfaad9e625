import type { Context } from '../../src/model/context.ts'
import type { EffectContext } from '../../src/model/effect.ts'

export type Work = (ctx: Context<never, object>) => Promise<string>

/** Creates two children on the way, and again at each attempt. */
export function withChildren(work: Work): Work {
  return async (ctx) => {
    for (const name of ['first', 'second']) await ctx.enqueue('one', name)
    return work(ctx)
  }
}

/** A remote system that drops duplicates by their key, and what handlers did with it. */
export class Charges {
  readonly #faults: string[]
  /** The occurrence that charged, by the key. */
  readonly #byKey = new Map<string, string>()
  /** Occurrences that have got the outcome of their charge. */
  readonly #answered = new Set<string>()

  constructor(faults: string[]) {
    this.#faults = faults
  }

  /** Charges once on the way. A process that has crashed charges nothing and learns nothing. */
  paid(work: Work, isCrashed: () => boolean): Work {
    return async (ctx) => {
      const { occurrenceId } = ctx
      const charge = async ({ idempotencyKey }: EffectContext) => {
        if (this.#answered.has(occurrenceId)) this.#faults.push(`${occurrenceId} charges although it had the outcome`)
        await work(ctx)
        if (!isCrashed()) this.#byKey.set(idempotencyKey, occurrenceId)
        return idempotencyKey
      }
      const charged = await ctx.once('charge', charge, { check: ({ idempotencyKey }) => this.#found(idempotencyKey) })
      if (!isCrashed()) this.#answered.add(occurrenceId)
      await work(ctx)
      return charged
    }
  }

  #found(key: string) {
    return this.#byKey.has(key) ? { happened: true as const, result: key } : { happened: false as const }
  }

  chargesOf(id: string): string[] {
    return [...this.#byKey].filter(([, occurrence]) => occurrence === id).map(([key]) => key)
  }
}
