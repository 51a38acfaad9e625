import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const packages = {
  attw: '@arethetypeswrong/cli',
  biome: '@biomejs/biome',
  depcruise: 'dependency-cruiser',
  knip: 'knip',
  publint: 'publint',
  tsc: 'typescript',
  vite: 'vite',
  vitest: 'vitest',
}

/** The JavaScript file behind a tool's command. Running it on our own Node.js works alike on every system. */
export function tool(name) {
  const manifest = join('node_modules', packages[name], 'package.json')
  const { bin } = JSON.parse(readFileSync(manifest, 'utf8'))
  return join(dirname(manifest), typeof bin === 'string' ? bin : bin[name])
}
