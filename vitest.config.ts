import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const source = (path: string) => fileURLToPath(new URL(`src/${path}`, import.meta.url))

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
    testTimeout: 240_000,
    hookTimeout: 120_000,
    retry: 0,
  },
})
