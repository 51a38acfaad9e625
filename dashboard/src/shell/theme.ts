import { effect } from '@preact/signals'
import { stored } from '../data/stored.ts'

export const themes = ['system', 'light', 'dark'] as const
export const theme = stored('theme', themes, 'system')

effect(() => {
  if (theme.value === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme.value
})

function isDark(): boolean {
  return theme.value === 'dark' || (theme.value === 'system' && matchMedia('(prefers-color-scheme: dark)').matches)
}

export function toggleTheme(): void {
  theme.value = isDark() ? 'light' : 'dark'
}
