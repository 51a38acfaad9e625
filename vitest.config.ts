import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const source = (path: string) => fileURLToPath(new URL(`src/${path}`, import.meta.url))

const longest = [
  'store/postgres/postgres',
  'store/postgres/pooler',
  'browser/pages',
  'examples/billing',
  'chaos/timers',
  'chaos/processes',
  'examples/shop',
  'browser/actions',
]

/** The files that take longest begin first, and none is left to run alone at the end. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification) => longest.some((name) => moduleId.endsWith(`test/${name}.test.ts`))
    const sorted = await super.sort(files)
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))]
  }
}

// Type tests (test/**/*.test-d.ts) are not run: `npm run check` compiles them, and a wrong type is an error there.
export default defineConfig({
  resolve: {
    alias: [
      { find: /^punctual$/, replacement: source('index.ts') },
      { find: /^punctual\/(memory|sqlite|postgres)$/, replacement: source('store/$1/index.ts') },
      { find: /^punctual\/(local|nats|rabbitmq)$/, replacement: source('broker/$1/index.ts') },
      { find: /^punctual\/(http|http-client|otel|testing|timers)$/, replacement: source('$1/index.ts') },
    ],
  },
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    pool: 'forks',
    // Many tests wait for processes and servers: three keep two cores busy.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    testTimeout: 240_000,
    hookTimeout: 120_000,
    // Awaited events come soon, but a busy machine must not decide a test.
    expect: { poll: { timeout: 60_000 } },
    retry: 0,
  },
})
