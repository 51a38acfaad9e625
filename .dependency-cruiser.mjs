/**
 * Imports point one way:
 *
 *   errors ← time ← schedule ← model ← { store, broker contracts } ← engine ← client ← { timers, http, cli }
 *
 * Each part below sees itself and the parts it names. An adapter sees its contract and what the contract sees.
 */
const pure = ['errors', 'time', 'schedule', 'model']
const contracts = [...pure, 'store', 'broker']

const sees = {
  errors: [],
  time: ['errors'],
  schedule: ['errors', 'time'],
  model: ['errors', 'time', 'schedule'],
  store: pure,
  broker: pure,
  rules: [...pure, 'store'],
  'store adapter': [...pure, 'store', 'rules', 'node version'],
  'broker adapter': [...pure, 'broker'],
  engine: contracts,
  client: [...contracts, 'engine'],
  // Neither reads the store past the client: the records of others are none of their business.
  outbound: [...pure, 'broker', 'client'],
  timers: [...pure, 'broker', 'client', 'outbound'],
  http: [...contracts, 'engine', 'client'],
  'http-client': [...contracts, 'client', 'http'],
  otel: [...pure, 'store', 'engine', 'client'],
  index: [...contracts, 'engine', 'client', 'node version'],
  'node version': [],
  cli: [
    ...contracts,
    'engine',
    'client',
    'http-client',
    'outbound',
    'timers',
    'http',
    'index',
    'store adapter',
    'broker adapter',
    'node version',
  ],
}

/** Where a part lives. A contract is the files of its folder, an adapter a folder inside; `$1` is the adapter's own name. */
const place = {
  ...Object.fromEntries(Object.keys(sees).map((part) => [part, `^src/${part}/`])),
  errors: '^src/errors\\.ts$',
  index: '^src/index\\.ts$',
  'node version': '^src/node-version\\.ts$',
  store: '^src/store/([^/]+\\.ts$|messages/)',
  rules: '^src/store/rules/',
  broker: '^src/broker/[^/]+\\.ts$',
  'store adapter': '^src/store/(?!messages/|rules/)([^/]+)/',
  'broker adapter': '^src/broker/([^/]+)/',
}

/** Where a driver may be imported. */
const drivers = {
  '^(node:)?sqlite$': '^src/store/sqlite/',
  '^node_modules/(pg|pg-[^/]+)/': '^src/store/postgres/',
  '^node_modules/(redis|ioredis|@redis)/': '^src/store/redis/',
  '^node_modules/@nats-io/': '^src/broker/nats/',
  '^node_modules/(amqplib|rabbitmq-client)/': '^src/broker/rabbitmq/',
  '^node_modules/@opentelemetry/': '^src/otel/',
  '^node_modules/(hono|@hono)/': '^src/(http|cli)/',
  '^node_modules/(commander|@clack)/': '^src/cli/',
}

export default {
  forbidden: [
    ...Object.entries(sees).map(([part, others]) => ({
      name: `${part.replace(' ', '-')}-sees`,
      comment: `${part} may import only ${['itself', ...others].join(', ')}`,
      severity: 'error',
      from: { path: place[part] },
      to: { path: '^src/', pathNot: [place[part].replace('([^/]+)', '$1'), ...others.map((other) => place[other])] },
    })),
    ...Object.entries(drivers).map(([driver, home]) => ({
      name: 'driver-at-home',
      comment: `this driver may be imported only in ${home.slice(1)}`,
      severity: 'error',
      from: { path: '^src/', pathNot: home },
      to: { path: driver },
    })),
    {
      name: 'testing-is-for-users',
      comment: 'nothing in src imports src/testing',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/testing/' },
      to: { path: '^src/testing/' },
    },
    {
      name: 'only-from-src',
      comment: 'what is published imports nothing from outside src',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^(test|scripts|examples|bench|dashboard)/' },
    },
    {
      name: 'dashboard-speaks-http',
      comment: 'the dashboard imports from src only the types of what goes over the line',
      severity: 'error',
      from: { path: '^dashboard/' },
      to: { path: '^src/', pathNot: '^src/http/wire\\.ts$' },
    },
    {
      name: 'dashboard-imports-types',
      comment: 'code of the server must not reach the browser',
      severity: 'error',
      from: { path: '^dashboard/' },
      to: { path: '^src/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'no-dev-dependency',
      comment: 'what is published needs its packages at run time: put this one under dependencies',
      severity: 'error',
      from: { path: '^src/' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['npm-peer', 'type-only'] },
    },
    {
      name: 'no-cycle',
      comment: 'two files of one folder may name each other as types; at run time nothing goes in circles',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    { name: 'resolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    // TypeScript 7 has no API for tools to parse with.
    parser: 'swc',
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
      extensions: ['.ts', '.mjs', '.js', '.d.ts'],
    },
  },
}
