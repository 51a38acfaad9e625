import { describe, expect, test } from 'vitest'
import { punctual } from '../cli/punctual-process.ts'
import { read } from './page.ts'

const page = read('docs/reference/cli.md')

/** Flags that the beginning of the page explains for all commands. */
const onTop = [...(page.split(/^## /m)[0] as string).matchAll(/`(--[a-z-]+)`/g)].map(([, flag]) => flag as string)

describe('the page of the command line', async () => {
  const { stdout } = await punctual(['--help'])
  const commands = [...stdout.matchAll(/^ {2}([a-z]+) /gm)].map(([, name]) => name as string).filter((name) => name !== 'help')

  test('has a section for every command, and no other', () => {
    const sections = [...page.matchAll(/^## (\S+)$/gm)].map(([, name]) => name)
    expect(sections).toEqual(commands)
  })

  test.each(commands)('names every flag of %s', async (command) => {
    const [, section = ''] = page.split(new RegExp(`^## ${command}$`, 'm'))
    const text = section.split(/^## /m)[0] as string
    const { stdout: own } = await punctual([command, '--help'])
    const below = [...own.matchAll(/^ {2}([a-z]+) \[options\]/gm)].map(([, name]) => name as string)
    const helps = await Promise.all(below.map((name) => punctual([command, name, '--help'])))
    const flags = [own, ...helps.map(({ stdout }) => stdout)].flatMap((help) =>
      [...help.matchAll(/^ {2}(--[a-z-]+)/gm)].map(([, flag]) => flag as string),
    )
    expect(below.filter((name) => name !== 'list' && !text.includes(`${command} ${name}`))).toEqual([])
    const everywhere = command === 'serve' ? [] : onTop
    expect(flags.filter((flag) => !everywhere.includes(flag) && !text.includes(flag))).toEqual([])
  })
})
