import { version } from '../../engine/node/version.ts'

/** The files of a starter project, by their names. */
export function starterFiles(name: string): Readonly<Record<string, string>> {
  return {
    'package.json': `${JSON.stringify(packageJson(name), null, 2)}\n`,
    'tsconfig.json': `${JSON.stringify(tsconfig, null, 2)}\n`,
    'punctual.config.ts': config,
    'jobs.ts': jobs,
    'jobs.test.ts': test,
    'compose.yaml': compose,
    '.gitignore': 'node_modules\n*.db\n*.db-*\n',
  }
}

function packageJson(name: string) {
  return {
    name,
    private: true,
    type: 'module',
    scripts: { start: 'punctual serve', test: 'node --test', check: 'tsc' },
    dependencies: { pg: '^8.16.0', punctual: `^${version}` },
    devDependencies: { '@types/node': '^24.0.0', typescript: '^5.9.0 || ^6.0.0 || ^7.0.0' },
    engines: { node: '>=22.18' },
  }
}

const tsconfig = {
  compilerOptions: {
    target: 'es2023',
    module: 'nodenext',
    strict: true,
    noEmit: true,
    allowImportingTsExtensions: true,
    erasableSyntaxOnly: true,
    skipLibCheck: true,
    types: ['node'],
  },
}

const config = `// Flags win over PUNCTUAL_… in the environment, which wins over this file.
export default { store: 'sqlite:./punctual.db', jobs: './jobs.ts' }
`

const jobs = `import { cron, defineJob } from 'punctual'

/** Every morning at six in Warsaw, whatever the clock change does. */
export const report = defineJob('report', { schedule: cron('0 6 * * *', { timezone: 'Europe/Warsaw' }) }, () => {
  return { built: true }
})

/** Enqueued with a payload: punctual enqueue remind '{"order": 42}' --key order-42 --delay 15m */
export const remind = defineJob<{ order: number }>('remind', { retry: { max: 5 } }, ({ payload }) => {
  return \`reminded of order \${payload.order}\`
})
`

const test = `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPunctual } from 'punctual'
import { memory } from 'punctual/memory'
import { manualClock } from 'punctual/testing'
import { remind, report } from './jobs.ts'

test('a reminder runs after its delay, and not before', async () => {
  const clock = manualClock()
  await using punctual = createPunctual({ store: memory(), jobs: [report, remind], clock })
  await punctual.start()
  const { id } = await punctual.enqueue(remind, { order: 42 }, { key: 'order-42', delay: '15m' })
  await clock.advance('14m')
  assert.equal((await punctual.get(id))?.state, 'pending')
  await clock.advance('2m')
  assert.equal((await punctual.get(id))?.result, 'reminded of order 42')
})
`

const compose = `# PostgreSQL, and two nodes that share the work: docker compose up
services:
  db:
    image: postgres:17-alpine
    environment:
      POSTGRES_USER: app
      POSTGRES_PASSWORD: app
    healthcheck:
      test: [CMD, pg_isready, -U, app]
      interval: 2s
      retries: 30
  node:
    image: node:24-alpine
    working_dir: /app
    volumes: [.:/app]
    command: npx punctual serve --host 0.0.0.0 --port 3000
    environment:
      PUNCTUAL_STORE: postgres://app:app@db/app
    depends_on:
      db:
        condition: service_healthy
    stop_grace_period: 40s
    deploy:
      replicas: 2
`
