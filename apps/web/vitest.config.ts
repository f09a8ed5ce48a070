import { packageTests } from '../../.scripts/vitest.ts'

export default packageTests({ include: ['src/**/*.test.{ts,tsx}', 'test/**/*.test.ts'] })
