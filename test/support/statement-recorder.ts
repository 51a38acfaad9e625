import { Client } from 'pg'
import { afterAll, beforeAll } from 'vitest'

/** Collects the texts of all statements that stores send to PostgreSQL while the tests of a file or a block run. */
export function recordStatements(): ReadonlySet<string> {
  const texts = new Set<string>()
  const query = Client.prototype.query
  beforeAll(() => {
    Client.prototype.query = function (this: Client & { connectionParameters?: { application_name?: string } }, ...args: any[]) {
      const [statement] = args
      const isStores = this.connectionParameters?.application_name === 'punctual'
      if (isStores) texts.add(typeof statement === 'string' ? statement : statement.text)
      return Reflect.apply(query, this, args)
    } as typeof query
  })
  afterAll(() => {
    Client.prototype.query = query
  })
  return texts
}
