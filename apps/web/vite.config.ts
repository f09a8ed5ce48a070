import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

export default defineConfig({
  plugins: [react()],
  resolve: { conditions: ['@chirality/source', 'module', 'browser', 'import', 'default'] },
  build: { outDir: 'dist', sourcemap: false },
})
