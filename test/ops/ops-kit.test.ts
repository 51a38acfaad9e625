import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { punctual } from '../cli/punctual-process.ts'

const dockerfile = readFileSync('ops/Dockerfile', 'utf8')
const unit = readFileSync('ops/punctual.service', 'utf8')
const compose = parse(readFileSync('ops/compose.yaml', 'utf8'), { merge: true })
const kubernetes = ['punctual', 'migrate'].flatMap((name) =>
  parseAllDocuments(readFileSync(`ops/kubernetes/${name}.yaml`, 'utf8')).map((document) => document.toJS()),
)
const deployment = kubernetes.find(({ kind }) => kind === 'Deployment')
const pods = kubernetes.filter(({ spec }) => spec.template).map(({ spec }) => spec.template.spec)

/** The variables that each file sets for the command. */
const environments: Record<string, Record<string, string>> = {
  Dockerfile: Object.fromEntries(
    /^ENV (.+)$/m
      .exec(dockerfile)?.[1]
      ?.split(' ')
      .map((one) => one.split('=')) ?? [],
  ),
  'compose.yaml': compose.services['node-1'].environment,
  'punctual.service': Object.fromEntries(
    [...unit.matchAll(/^Environment=(\w+)=(.+)$/gm)].map(([, name, value]) => [name, value]),
  ),
  'punctual.yaml': Object.fromEntries(
    deployment.spec.template.spec.containers[0].env.map((one: { name: string; value?: string }) => [
      one.name,
      one.value ?? 'postgres://app@db.example/app',
    ]),
  ),
}

describe('the ops kit', () => {
  test.each(Object.keys(environments))('the settings in %s are settings of the command', async (file) => {
    const env = environments[file] as Record<string, string>
    const { code, stdout, stderr } = await punctual(['config', 'print', '--origin', '--json'], { env })
    expect(code, stderr).toBe(0)
    const origins = Object.values(JSON.parse(stdout) as Record<string, { origin: string }>).map(({ origin }) => origin)
    for (const name of Object.keys(env).filter((one) => one.startsWith('PUNCTUAL_'))) expect(origins).toContain(name)
  })

  test('every node ends later than its running work, which has 30 seconds', () => {
    const seconds = [
      deployment.spec.template.spec.terminationGracePeriodSeconds,
      ...['node-1', 'node-2'].map((name) => Number.parseInt(compose.services[name].stop_grace_period, 10)),
      Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1]),
    ]
    for (const one of seconds) expect(one).toBeGreaterThan(30)
  })

  test('no process runs as root, and each health check calls a path that is open', () => {
    expect(dockerfile).toMatch(/^USER node$/m)
    expect(dockerfile).toMatch(/^HEALTHCHECK .*\/healthz/m)
    expect(unit).toMatch(/^DynamicUser=yes$/m)
    for (const { securityContext, containers } of pods) {
      expect(securityContext.runAsNonRoot).toBe(true)
      for (const container of containers)
        expect(container.securityContext).toMatchObject({ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true })
    }
    const [{ startupProbe, livenessProbe, readinessProbe }] = deployment.spec.template.spec.containers
    expect([startupProbe, livenessProbe, readinessProbe].map((probe) => probe.httpGet.path)).toEqual([
      ...['/healthz', '/healthz', '/readyz'],
    ])
  })

  test('the selectors of Kubernetes find the pods, and nodes start after the migration', () => {
    const { labels } = deployment.spec.template.metadata
    const service = kubernetes.find(({ kind }) => kind === 'Service')
    const budget = kubernetes.find(({ kind }) => kind === 'PodDisruptionBudget')
    for (const selector of [deployment.spec.selector.matchLabels, service.spec.selector, budget.spec.selector.matchLabels])
      expect(labels).toMatchObject(selector)
    for (const name of ['node-1', 'node-2'])
      expect(compose.services[name].depends_on.migrate.condition).toBe('service_completed_successfully')
  })

  const systemd = spawnSync('systemd-analyze', ['--version']).status === 0
  test.skipIf(!systemd)('systemd accepts the unit', () => {
    // The paths of the unit need not exist here.
    const { stdout, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', 'ops/punctual.service'], { encoding: 'utf8' })
    const faults = `${stdout}${stderr}`
      .split('\n')
      .filter((line) => line.includes('punctual.service') && !line.includes('not executable'))
    expect(faults).toEqual([])
  })
})
