import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { api } from '../data/api.ts'
import { into } from '../data/into.ts'
import { openSession } from '../data/session.ts'
import { Button } from '../part/button.tsx'
import { Command } from '../part/command.tsx'
import { TextField } from '../part/field.tsx'
import { Logo } from './logo.tsx'

/** Trades a token for a session. */
export function Login(): VNode {
  const token = useSignal('')
  const error = useSignal<string | null>(null)
  const isBusy = useSignal(false)
  const login = async () => {
    isBusy.value = true
    error.value = null
    try {
      await api.login(token.value.trim())
      await openSession()
    } catch (refused) {
      error.value = (refused as Error).message
    }
    isBusy.value = false
  }
  return (
    <main class="login">
      <form
        class="card body stack"
        onSubmit={(event) => {
          event.preventDefault()
          void login()
        }}
      >
        <h1 class="brand">
          <Logo />
          Punctual
        </h1>
        <TextField
          label="Token"
          type="password"
          value={token.value}
          onInput={into(token)}
          error={error.value}
          isFocused
          isRequired
          hint="The server prints an admin token at its first start."
        />
        <Button type="submit" kind="primary" isDisabled={isBusy.value || token.value.trim() === ''}>
          Log in
        </Button>
        <p class="hint">An admin makes more of them:</p>
        <Command words={['punctual', 'tokens', 'create', 'ada', '--role', 'operator']} />
      </form>
    </main>
  )
}
