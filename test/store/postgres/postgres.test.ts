import { postgres } from '../../../src/store/postgres/index.ts'
import { onEmptiedTables } from '../../support/emptied-tables.ts'
import { sharedPostgresUrl } from '../../support/postgres-database.ts'
import { registerStoreSuite } from '../../support/register-store-suite.ts'

registerStoreSuite({
  name: 'postgres',
  open: onEmptiedTables(async (schema) => postgres(await sharedPostgresUrl(), { schema })),
})
