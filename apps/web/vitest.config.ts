import { packageTests } from '../../.scripts/vitest.ts'

export default packageTests({
  longest: ['test/e2e/', 'test/browser/'],
  // Each with a browser of its own.
  alone: ['test/**/*.test.ts'],
})
