/** Bundles the declarations that tsc emitted: one file for each entry point, and a few that these share. */
import { globSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { rolldown } from 'rolldown'
import { dts } from 'rolldown-plugin-dts'

/** Replaces the declarations in `folder` by those that the entry points `doors` (`http/index.js`) need. */
export async function bundleDeclarations(folder, doors) {
  const names = doors.map((file) => file.slice(0, -'.js'.length))
  const input = Object.fromEntries(names.map((name) => [`${name}.d`, join(folder, `${name}.d.ts`)]))
  const made = await rolldown({ input, external: /^[^./]/, plugins: [dts({ dtsInput: true, tsconfig: false })] })
  const { output } = await made.generate({
    format: 'esm',
    entryFileNames: '[name].ts',
    chunkFileNames: 'types/[name].ts',
    // Editors and compiler messages show these names.
    minifyInternalExports: false,
  })
  await made.close()
  for (const file of globSync('**/*.d.ts', { cwd: folder })) rmSync(join(folder, file))
  for (const { fileName, code } of output) {
    mkdirSync(dirname(join(folder, fileName)), { recursive: true })
    writeFileSync(join(folder, fileName), code.replace(/^\/\/#(?:end)?region.*\n/gm, ''))
  }
}
