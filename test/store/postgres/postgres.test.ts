import { postgres } from '../../../src/store/postgres/index.ts'
import { freshSchemaName, sharedPostgresUrl } from '../../support/postgres-database.ts'
import { registerStoreSuite } from '../../support/register-store-suite.ts'

const schemas = new Map<string, string>()

registerStoreSuite({
  name: 'postgres',
  open: async (env, place) => {
    const schema = schemas.get(place) ?? freshSchemaName()
    schemas.set(place, schema)
    const store = postgres(await sharedPostgresUrl(), { schema })
    await store.open(env)
    return store
  },
})
