import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { Argument, type Command } from 'commander'
import { PunctualError } from '../../errors.ts'
import { starterFiles } from '../init/starter-files.ts'
import { example } from '../options.ts'
import { print } from '../print.ts'

export function addInit(root: Command): void {
  root
    .command('init')
    .description('Write a starter project: a job, its test, and a compose file. Files that exist are not overwritten.')
    .addArgument(new Argument('[folder]', 'the folder; else this one'))
    .addHelpText('after', example('punctual init shop'))
    .action((folder = '.') => {
      const files = starterFiles(packageName(folder))
      const taken = Object.keys(files).filter((name) => existsSync(join(folder, name)))
      if (taken.length > 0)
        throw new PunctualError('config.invalid', `${folder} has ${taken.join(', ')} already; choose an empty folder`, {
          field: 'folder',
        })
      mkdirSync(folder, { recursive: true })
      for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
      const enter = folder === '.' ? '' : `  cd ${folder}\n`
      print(`Wrote ${Object.keys(files).join(', ')}\n\nTry next:\n${enter}  npm install\n  npm test\n  npm start`)
    })
}

/** A name that npm takes. */
function packageName(folder: string): string {
  const name = basename(resolve(folder))
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, '-')
    .replace(/^-+|-+$/g, '')
  return name || 'jobs'
}
