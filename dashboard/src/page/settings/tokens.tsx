import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import type { WireNewToken, WireToken } from '../../../../src/http/wire.ts'
import { ActionDialog } from '../../action/action-dialog.tsx'
import { api } from '../../data/api.ts'
import { into } from '../../data/into.ts'
import { refresh, useQuery } from '../../data/query.ts'
import { may } from '../../data/session.ts'
import { useAsked } from '../../part/asked.ts'
import { Button } from '../../part/button.tsx'
import { Columns } from '../../part/columns.tsx'
import { Copy } from '../../part/command.tsx'
import { SelectField, TextField } from '../../part/field.tsx'
import { Empty, Loaded } from '../../part/screen.tsx'
import { At } from '../../part/time.tsx'

export function Tokens(): VNode {
  const tokens = useQuery({ key: ['tokens'], read: (signal) => api.tokens(signal) })
  const made = useSignal<WireNewToken | null>(null)
  const asked = useAsked<'new' | WireToken>()
  return (
    <section class="card" aria-label="Tokens">
      <header>
        <h2>Tokens</h2>
        <span class="dim">for people and programs</span>
        {may('tokens.create') && (
          <div class="end">
            <Button isSmall onClick={asked.ask('new')}>
              New token…
            </Button>
          </div>
        )}
      </header>
      {made.value && (
        <div class="body">
          <div class="note s-completed">
            <div class="min-w-0">
              <b>The secret of {made.value.name}, shown once:</b>
              <p class="mono wrap-any">{made.value.secret}</p>
            </div>
            <div class="do">
              <Copy text={made.value.secret} />
            </div>
          </div>
        </div>
      )}
      <Loaded query={tokens}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title="No token yet.">
              A token gives a person or a program a role: viewer reads, operator acts on work, admin does everything.
            </Empty>
          ) : (
            <table class="tbl tight cards">
              <Columns names={['Name', 'Role', 'Tenants', 'Created', 'Expires', '']} />
              <tbody>
                {items.map((token) => (
                  <tr key={token.id}>
                    <td class="grow strong">{token.name}</td>
                    <td>{token.role}</td>
                    <td class="dim">{token.tenants?.join(', ') ?? 'all'}</td>
                    <td class="nw dim">
                      <At at={token.createdAt} />
                    </td>
                    <td class="nw dim">{token.expiresAt ? <At at={token.expiresAt} /> : 'never'}</td>
                    <td class="num">
                      {may('tokens.revoke') && (
                        <Button kind="ghost" isSmall icon="trash" label={`Revoke ${token.name}`} onClick={asked.ask(token)} />
                      )}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          )
        }
      </Loaded>
      {asked.value === 'new' && <NewTokenDialog onMade={into(made)} onClose={asked.close} />}
      {asked.value !== null && asked.value !== 'new' && <RevokeDialog token={asked.value} onClose={asked.close} />}
    </section>
  )
}

function NewTokenDialog({ onMade, onClose }: { onMade: (token: WireNewToken) => void; onClose: () => void }): VNode {
  const name = useSignal('')
  const role = useSignal<'viewer' | 'operator' | 'admin'>('viewer')
  const expiresIn = useSignal('')
  const run = async () => {
    onMade(
      await api.createToken({
        name: name.value.trim(),
        role: role.value,
        ...(expiresIn.value && { expiresIn: expiresIn.value }),
      }),
    )
    refresh('tokens')
  }
  return (
    <ActionDialog
      title="Create a token"
      verb="Create"
      isReady={name.value.trim() !== ''}
      command={[
        'punctual',
        'tokens',
        'create',
        name.value || '…',
        '--role',
        role.value,
        ...(expiresIn.value ? ['--expires-in', expiresIn.value] : []),
      ]}
      run={run}
      onClose={onClose}
    >
      <TextField
        label="Name"
        value={name.value}
        onInput={into(name)}
        isFocused
        isRequired
        hint="Of the person or program. The audit shows it."
      />
      <SelectField
        label="Role"
        value={role.value}
        values={[
          ['viewer', 'viewer: reads, without payloads'],
          ['operator', 'operator: acts on work'],
          ['admin', 'admin: everything'],
        ]}
        onChange={into(role)}
      />
      <TextField label="Expires in, optional" value={expiresIn.value} onInput={into(expiresIn)} placeholder="90d" />
    </ActionDialog>
  )
}

function RevokeDialog({ token, onClose }: { token: WireToken; onClose: () => void }): VNode {
  const run = async () => {
    await api.revokeToken(token.id)
    refresh('tokens')
  }
  return (
    <ActionDialog
      title={`Revoke the token of ${token.name}?`}
      verb="Revoke"
      isDanger
      command={['punctual', 'tokens', 'revoke', token.id]}
      run={run}
      onClose={onClose}
    >
      <p class="sec">Requests with it are refused from now on. Sessions opened with it end.</p>
    </ActionDialog>
  )
}
