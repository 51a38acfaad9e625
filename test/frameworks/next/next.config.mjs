export default { serverExternalPackages: ['punctual'] }
