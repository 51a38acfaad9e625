import { Client } from 'pg'
import { afterAll, beforeAll } from 'vitest'

export interface Statements {
  readonly all: ReadonlySet<string>
  /** Those whose plan is made once and kept. */
  readonly kept: ReadonlySet<string>
  /** Every statement in the order in which they were sent. */
  readonly sent: readonly string[]
}

type StoreClient = Client & { connectionParameters?: { application_name?: string } }

/** Collects the texts of all statements that stores send to PostgreSQL while the tests of a file or a block run. */
export function recordStatements(): Statements {
  const all = new Set<string>()
  const kept = new Set<string>()
  const sent: string[] = []
  const planningAnew = new WeakSet<Client>()
  const query = Client.prototype.query
  beforeAll(() => {
    Client.prototype.query = function (this: StoreClient, ...args: any[]) {
      const [statement] = args
      const text: string = typeof statement === 'string' ? statement : statement.text
      if (this.connectionParameters?.application_name === 'punctual') {
        if (text.includes('plan_cache_mode = auto')) planningAnew.add(this)
        else if (/^(COMMIT|ROLLBACK)$/.test(text)) planningAnew.delete(this)
        all.add(text)
        sent.push(text)
        if (!planningAnew.has(this) && /^\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b/.test(text)) kept.add(text)
      }
      return Reflect.apply(query, this, args)
    } as typeof query
  })
  afterAll(() => {
    Client.prototype.query = query
  })
  return { all, kept, sent }
}
