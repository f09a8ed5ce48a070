import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'
import { compressed } from './vite.compress.ts'
import { startFile } from './vite.start.ts'
import { serviceWorker } from './vite.worker.ts'

/** Where `chirality serve` is by default. It takes calls from its own pages only, so `vite dev` speaks in its name. */
const SERVER = 'http://127.0.0.1:4096'
const forward = { target: SERVER, changeOrigin: true, headers: { origin: SERVER } }

const start = startFile()

export default defineConfig({
  plugins: [react(), start.plugin, serviceWorker(), compressed()],
  resolve: { conditions: ['@chirality/source', 'module', 'browser', 'import', 'default'] },
  // Nothing is inlined: the page's policy takes styles and scripts from files only.
  build: {
    ...{ outDir: 'dist', sourcemap: false, assetsInlineLimit: 0, chunkSizeWarningLimit: 700 },
    // One file of what the first screen needs: forty small ones take longer to fetch and compress worse.
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [{ name: 'start', test: start.isPart }],
          includeDependenciesRecursively: false,
        },
      },
    },
  },
  server: { proxy: { '/api': forward, '/trpc': { ...forward, ws: true } } },
})
