import tailwindcss from '@tailwindcss/vite'
import { defineConfig } from 'vite'

// Asset URLs are relative: the server puts the way to its root into the page, whatever path it is mounted at.
export default defineConfig({
  base: './',
  plugins: [tailwindcss()],
  build: { target: 'es2023', assetsInlineLimit: 0, modulePreload: false, reportCompressedSize: false, emptyOutDir: true },
})
