import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'
import { compressed } from './vite.compress.ts'
import { serviceWorker } from './vite.worker.ts'

/** Where `chirality serve` is by default. It takes calls from its own pages only, so `vite dev` speaks in its name. */
const SERVER = 'http://127.0.0.1:4096'
const forward = { target: SERVER, changeOrigin: true, headers: { origin: SERVER } }

const SHARED =
  /src\/ui\/(marks|text|listeners|own|virtual\/ScrollRegion|overlay\/toast-store|controls\/(Button|CopyButton|Field|IconButton))|src\/state\/(server|fleet)\/use-|src\/app\/project\.ts|node_modules\/lucide-react/

export default defineConfig({
  plugins: [react(), serviceWorker(), compressed()],
  resolve: { conditions: ['@chirality/source', 'module', 'browser', 'import', 'default'] },
  // Nothing is inlined: the page's policy takes styles and scripts from files only.
  build: {
    ...{ outDir: 'dist', sourcemap: false, assetsInlineLimit: 0, chunkSizeWarningLimit: 700 },
    // What the first page needs and later ones share is one file: forty small ones compress worse.
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: 'shared', test: SHARED }] } } },
  },
  server: { proxy: { '/api': forward, '/trpc': { ...forward, ws: true } } },
})
