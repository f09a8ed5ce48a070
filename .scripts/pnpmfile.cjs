// openapi-typescript, which a test runs, uses the compiler's JavaScript API. TypeScript 7, which compiles everything
// here, does not have one, and would be taken as its peer.
module.exports = {
  hooks: {
    readPackage(manifest) {
      if (manifest.name === 'openapi-typescript') {
        manifest.dependencies = { ...manifest.dependencies, typescript: '5.9.3' }
        manifest.peerDependencies = {}
      }
      return manifest
    },
  },
}
