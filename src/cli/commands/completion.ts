import { Argument, type Command } from 'commander'
import { completionScript, shells } from '../completion.ts'
import { example } from '../options.ts'
import { print } from '../print.ts'

export function addCompletion(root: Command): void {
  root
    .command('completion')
    .description('Print a script that completes commands and flags in your shell.')
    .addArgument(new Argument('<shell>', 'your shell').choices(shells))
    .addHelpText(
      'after',
      example(
        'punctual completion bash > ~/.local/share/bash-completion/completions/punctual',
        'punctual completion zsh > "$' + '{fpath[1]}/_punctual"',
        'punctual completion fish > ~/.config/fish/completions/punctual.fish',
      ),
    )
    .action((shell: (typeof shells)[number]) => print(completionScript(root, shell)))
}
