import { packageTests } from '../../.scripts/vitest.ts'

export default packageTests()
