import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

const read = (name: string) => JSON.parse(readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8'))

interface Locked {
  readonly dev?: true
  readonly optional?: true
  readonly hasInstallScript?: true
  readonly integrity?: string
}

it('S42 six libraries come with the package, the lock file has the hash of each, and none runs a script on install', () => {
  const { dependencies, scripts } = read('package.json')
  expect(Object.keys(dependencies).length).toBeLessThanOrEqual(6)
  for (const name of ['preinstall', 'install', 'postinstall']) expect(scripts).not.toHaveProperty(name)
  const packages = Object.entries(read('package-lock.json').packages as Record<string, Locked>)
  const shipped = packages.filter(([path, { dev, optional }]) => path.startsWith('node_modules/') && !dev && !optional)
  expect(shipped.length).toBeGreaterThan(0)
  for (const [path, { integrity, hasInstallScript }] of shipped)
    expect([path, integrity?.slice(0, 7), hasInstallScript]).toEqual([path, 'sha512-', undefined])
})
