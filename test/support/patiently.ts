/** For `vi.waitFor` and `vi.waitUntil`: how fast the machine is decides no test. */
export const patiently = { timeout: 60_000, interval: 20 }
