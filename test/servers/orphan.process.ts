// Starts a PostgreSQL, says where, and waits to be killed.
import { startPostgres } from '../support/servers/postgres.ts'

const postgres = await startPostgres()
if (process.argv[2] === 'frozen') await postgres.freeze()
console.log(JSON.stringify({ what: 'started', pid: postgres.pid, folder: postgres.folder, template: postgres.template.data }))
setInterval(() => {}, 60_000)
