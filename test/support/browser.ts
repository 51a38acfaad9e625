import process from 'node:process'
import { type Browser, chromium as playwright } from 'playwright-core'
import { chromium, programsOf } from './servers/needed.ts'

// The sandbox needs rights that tests in containers do not have; the rest keeps the browser from calling home.
const flags = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** Starts the browser of the machine. */
export function startBrowser(): Promise<Browser> {
  return playwright.launch({ executablePath: process.env[chromium.variable] ?? programsOf(chromium), args: flags })
}
