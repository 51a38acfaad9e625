/** `npm run oracle`: cron against the brute-force scan of the wall, over many more windows than the tests take. */
import { spawnSync } from 'node:child_process'
import process from 'node:process'
import { tool } from './tool.mjs'

const env = { PUNCTUAL_ORACLE_WINDOWS: '20000', ...process.env }
const { status } = spawnSync(process.execPath, [tool('vitest'), 'run', 'test/schedule/cron-oracle.test.ts'], {
  stdio: 'inherit',
  env,
})
process.exit(status ?? 1)
