import { render } from 'preact'
import '../style/index.css'
import { goLive } from './data/live.ts'
import { openSession } from './data/session.ts'
import { listenToKeys } from './shell/keys.ts'
import { Shell } from './shell/shell.tsx'

const app = document.getElementById('app')!
render(<Shell />, app)
listenToKeys()
goLive()
void open()

/** A server that is away is tried again until it answers. */
async function open(): Promise<void> {
  try {
    await openSession()
  } catch {
    setTimeout(() => void open(), 2000)
  }
}
