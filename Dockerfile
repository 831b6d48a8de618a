# It indexes the folder /data into the volume /index and serves searches at port 7878. compose.yaml runs it.
FROM python:3.13-slim-trixie AS build
# hadolint ignore=DL3008
RUN apt-get update && apt-get install --yes --no-install-recommends binutils && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY requirements/serve.txt requirements/
RUN pip download --no-cache-dir --no-deps --require-hashes --requirement requirements/serve.txt --dest /wheels
COPY . .
ARG VERSION=0.0.0
RUN SETUPTOOLS_SCM_PRETEND_VERSION="$VERSION" \
        pip wheel --no-cache-dir --no-index --find-links /wheels --no-deps --wheel-dir /wheels . \
    && python -m venv --without-pip /opt/cdesearch \
    && pip --python /opt/cdesearch/bin/python install --no-cache-dir --no-compile --no-index --find-links /wheels \
        "cdesearch[serve]==$VERSION"
# A fifth of the packages is never loaded: symbols, tests, headers, the library of ONNX Runtime for programs in C, and
# what pyarrow needs for Flight and S3. The commands write the bytecode of what is loaded, which a user cannot do later.
WORKDIR /opt/cdesearch/lib/python3.13/site-packages
RUN rm -rf onnxruntime/capi/libonnxruntime.so.* onnxruntime/tools onnxruntime/transformers \
        pyarrow/include pyarrow/tests pyarrow/*arrow*_flight* pyarrow/_flight* pyarrow/libarrow_s3* pyarrow/_s3fs* \
    && find numpy -type d -name tests -prune -exec rm -r {} + \
    && find . -name '*.so*' -not -path './numpy.libs/*' -exec strip --strip-unneeded {} + \
    && /opt/cdesearch/bin/cdesearch index /source/indexer /source/README.md --index /tmp/try \
    && /opt/cdesearch/bin/cdesearch query "which words are rare" --index /tmp/try \
    && /opt/cdesearch/bin/python -c "import cdesearch.serve.app, cdesearch.serve.mcp.server"

FROM python:3.13-slim-trixie
RUN useradd --create-home --uid 1000 cdesearch && mkdir /data /index && chown cdesearch:cdesearch /index
COPY --from=build /opt/cdesearch /opt/cdesearch
ENV PATH=/opt/cdesearch/bin:$PATH
USER 1000
VOLUME /index
EXPOSE 7878
HEALTHCHECK --interval=30s --timeout=5s --start-period=1h \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:7878/api/v1/healthz', timeout=4)"]
# The server needs a token of at least 16 letters and digits in $CDESEARCH_TOKEN.
# A folder that cannot be read now does not keep it from serving what is indexed.
CMD ["sh", "-c", "cdesearch index /data --index /index; exec cdesearch serve /index --host 0.0.0.0"]
